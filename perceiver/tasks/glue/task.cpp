#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/tasks/glue/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

using Config = Settings<GlueConfig>;

class GlueBenchmark : public Task {
 public:
  explicit GlueBenchmark(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  // -> the answers of all tasks one after another, [B, 1, answers]
  Tensor forward_random(int64_t batch, Split) override {
    const GlueConfig& c = config_.model;
    const Tensor ids = at::randint(c.vocabulary_size, {batch, model_->max_length()}, at::kLong);
    const Tensor tasks = at::randint(static_cast<int64_t>(c.tasks.size()), {batch}, at::kLong);
    return at::cat(model_->forward(ids, {}, tasks), 1).unsqueeze(1);
  }

 private:
  Config config_;
  Glue model_;
};

}  // namespace

std::unique_ptr<Task> make_glue(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<GlueBenchmark>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
