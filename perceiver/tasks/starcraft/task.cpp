#include <ATen/ATen.h>

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/registry.h"
#include "perceiver/tasks/starcraft/alphastar_transformer.h"
#include "perceiver/tasks/starcraft/model.h"

namespace perceiver {
namespace {

Tensor random_entities(int64_t batch, const EntityConfig& c) {
  const auto feature = [&](double end) {
    return at::rand({batch, c.num_entities}).mul(end).floor();
  };
  return at::stack({feature(c.num_types), feature(c.num_owners), feature(200), feature(200),
                    feature(20'000), feature(2)},
                   -1);
}

// Perceiver IO and AlphaStar's Transformer are asked the same.
template <typename Model, typename ModelConfig>
class StarCraftTask : public ModelTask<Model, ModelOnly<ModelConfig>> {
 public:
  using ModelTask<Model, ModelOnly<ModelConfig>>::ModelTask;

  Example random_inputs(int64_t batch) const override {
    const EntityConfig& c = this->config_.model.entities;
    return {{"entities", random_entities(batch, c)},
            {"mask", at::ones({batch, c.num_entities}, at::kBool)}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return this->model_->forward(inputs.at("entities"), inputs.at("mask")).entity_embeddings;
  }
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
