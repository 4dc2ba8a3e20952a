#include <ATen/ATen.h>

#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

using Config = Settings<TextClassifierConfig>;

class TextClassification : public Task {
 public:
  explicit TextClassification(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  // -> [B, 1, classes]
  Tensor forward_random(int64_t batch, Split) override {
    const TextClassifierConfig& c = config_.model;
    const Tensor ids = at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong);
    return model_(ids).unsqueeze(1);
  }

 private:
  Config config_;
  TextClassifier model_;
};

}  // namespace

std::unique_ptr<Task> make_text_classifier(const File& config,
                                           std::span<const std::string> overrides) {
  return std::make_unique<TextClassification>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
