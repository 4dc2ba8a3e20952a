#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/settings.h"
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
class EntityTask : public Task {
 public:
  explicit EntityTask(const Settings<ModelConfig>& config)
      : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Example random_inputs(int64_t batch) const override {
    const EntityConfig& c = config_.model.entities;
    return {{"entities", random_entities(batch, c)},
            {"mask", at::ones({batch, c.num_entities}, at::kBool)}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_->forward(inputs.at("entities"), inputs.at("mask")).entity_embeddings;
  }

 private:
  Settings<ModelConfig> config_;
  Model model_;
};

}  // namespace

std::unique_ptr<Task> make_starcraft(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<EntityTask<StarCraft, StarCraftConfig>>(
      read_config<Settings<StarCraftConfig>>(config, overrides));
}

std::unique_ptr<Task> make_alphastar_transformer(const File& config,
                                                 std::span<const std::string> overrides) {
  return std::make_unique<EntityTask<AlphaStarTransformer, AlphaStarTransformerConfig>>(
      read_config<Settings<AlphaStarTransformerConfig>>(config, overrides));
}

}  // namespace perceiver
