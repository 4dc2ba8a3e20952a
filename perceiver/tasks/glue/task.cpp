#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "perceiver/modalities/text_file.h"
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
  Example random_inputs(int64_t batch) const override {
    const GlueConfig& c = config_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, model_->max_length()}, at::kLong)},
            {"tasks", at::randint(static_cast<int64_t>(c.tasks.size()), {batch}, at::kLong)}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return at::cat(model_->forward(inputs.at("ids"), {}, inputs.at("tasks")), 1).unsqueeze(1);
  }

  Example read(std::span<const File> files) const override {
    return read_bytes(files, config_.model.vocabulary_size, model_->max_length());
  }

  // Of one task's model alone: others have no one set of classes.
  Tensor classify(const Example& inputs) override {
    const std::vector<std::string>& tasks = config_.model.tasks;
    if (tasks.size() != 1 || num_answers(tasks[0]) == 1) {
      fail("the answers of a model of {} are no classes; encode the text and query it",
           fmt::join(tasks, ", "));
    }
    return model_->answers(encode(inputs), 0).to(at::kFloat).softmax(-1);
  }

  // With kTaskTokens each task reads the text in its own way: a row's latents for every task, then
  // the next row's.
  Tensor encode(const Example& inputs) override {
    const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
    if (config_.model.variant != GlueVariant::kTaskTokens) {
      return model_->encode(rows.ids, rows.mask);
    }
    const auto num_tasks = static_cast<int64_t>(config_.model.tasks.size());
    return model_->encode(rows.ids.repeat_interleave(num_tasks, 0),
                          rows.mask.repeat_interleave(num_tasks, 0),
                          at::arange(num_tasks, rows.ids.options()).repeat(rows.ids.size(0)));
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
