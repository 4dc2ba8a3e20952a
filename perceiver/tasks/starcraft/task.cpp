#include <ATen/ATen.h>

#include "perceiver/tasks/registry.h"
#include "perceiver/tasks/starcraft/training.h"

namespace perceiver {
namespace {

// Perceiver IO and AlphaStar's Transformer are asked the same.
template <typename Model, typename ModelConfig>
class StarCraftTask : public ModelTask<Model, StarCraftExperiment<ModelConfig>> {
 public:
  using ModelTask<Model, StarCraftExperiment<ModelConfig>>::ModelTask;

  Example random_inputs(int64_t batch) const override {
    Example inputs = random_entities(batch, this->config_.model.entities);
    for (const char* asked : {"type", "hidden", "won"}) inputs.erase(asked);
    return inputs;
  }

  // -> embeddings, and what each objective makes of them, [B, values]; of pointing its
  // probabilities, as what cannot be selected has none
  Tensor forward(const Example& inputs, Split) override {
    const Tensor& mask = inputs.at("mask");
    const EntityEncoding encoding = this->model_->forward(inputs.at("entities"), mask);
    EntityObjectivesImpl& heads = this->model_->objectives();
    const Tensor pointed =
        heads.pointer().forward(encoding, mask, inputs.at("place"), inputs.at("selected"));
    return at::cat({encoding.entity_embeddings.flatten(1), encoding.embedded_entity,
                    heads.types(encoding).flatten(1), heads.winner(encoding),
                    pointed.softmax(-1).flatten(1).to(encoding.embedded_entity.dtype())},
                   1);
  }

  Training* training() override { return training_.get(); }

 private:
  std::unique_ptr<Training> training_ = starcraft_training(this->config_, this->model_);
};

}  // namespace

TaskEntry starcraft_task() {
  return task_entry<StarCraftTask<StarCraft, StarCraftConfig>>("starcraft");
}

TaskEntry alphastar_transformer_task() {
  return task_entry<StarCraftTask<AlphaStarTransformer, AlphaStarTransformerConfig>>(
      "alphastar_transformer");
}

}  // namespace perceiver
