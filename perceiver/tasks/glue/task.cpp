#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/glue/query.h"
#include "perceiver/tasks/glue/training.h"
#include "perceiver/tasks/registry.h"

namespace perceiver {
namespace {

class GlueTask : public ModelTask<Glue, GlueExperiment<GlueConfig>, Application> {
 public:
  using ModelTask::ModelTask;

  // -> the answers of all tasks one after another, [B, 1, answers]
  Example random_inputs(int64_t batch) const override {
    const GlueConfig& c = config_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, model_->max_length()}, at::kLong)},
            {"tasks", at::randint(static_cast<int64_t>(c.tasks.size()), {batch}, at::kLong)}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return at::cat(model_->forward(inputs.at("ids"), {}, inputs.at("tasks")), 1).unsqueeze(1);
  }

  InputKind reads() const override { return InputKind::kText; }

  Example read(std::span<const File> files) const override {
    return read_bytes(files, config_.model.vocabulary_size, model_->max_length());
  }

  // Of one task's model alone: others have no one set of classes.
  Tensor classify(const Example& inputs) override {
    const std::vector<std::string>& tasks = config_.model.tasks;
    if (tasks.size() != 1 || glue_benchmark(tasks[0]).is_value()) {
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

  std::vector<std::string> questions() const override { return {"--tasks"}; }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>&) override {
    return answer_glue(*model_, file, query);
  }

  Training* training() override { return training_.get(); }

 private:
  std::unique_ptr<Training> training_ = glue_training(config_, model_);
};

// It has no latents to ask: its answers are those of classify() and of training.
class GlueBertTask : public ModelTask<GlueBert, GlueExperiment<GlueBertConfig>> {
 public:
  using ModelTask::ModelTask;

  Example random_inputs(int64_t batch) const override {
    return {{"ids",
             at::randint(config_.model.vocabulary_size, {batch, model_->max_length()}, at::kLong)}};
  }

  // -> the answers of all tasks one after another, [B, 1, answers]
  Tensor forward(const Example& inputs, Split) override {
    return at::cat(model_->forward(inputs.at("ids")), 1).unsqueeze(1);
  }

  Training* training() override { return training_.get(); }

 private:
  std::unique_ptr<Training> training_ = glue_training(config_, model_);
};

}  // namespace

TaskEntry glue_task() { return task_entry<GlueTask>("glue"); }

TaskEntry glue_bert_task() { return task_entry<GlueBertTask>("glue_bert"); }

}  // namespace perceiver
