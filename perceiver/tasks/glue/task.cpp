#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <array>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/glue/query.h"
#include "perceiver/tasks/glue/training.h"
#include "perceiver/tasks/registry.h"
#include "perceiver/tasks/text_view.h"

namespace perceiver {
namespace {

std::vector<TextTask> text_tasks_of(const std::vector<std::string>& tasks) {
  std::vector<TextTask> all;
  for (const std::string& task : tasks) {
    const GlueBenchmark& benchmark = glue_benchmark(task);
    all.push_back({task, benchmark.takes_pair(), benchmark.classes});
  }
  return all;
}

// What a head gives, [B, answers], as people read it: probabilities, or a value within its range.
Tensor readable(const Tensor& answers, const std::string& task) {
  const Tensor values = answers.to(at::kFloat);
  return glue_benchmark(task).is_value() ? values.clamp(0.0, kMostSimilar) : values.softmax(-1);
}

// The one task whose classes are the model's; fails where there is none such.
void check_has_classes(const std::vector<std::string>& tasks) {
  if (tasks.size() == 1 && !glue_benchmark(tasks[0]).is_value()) return;
  fail("the answers of a model of {} are no classes; ask for them with --task",
       fmt::join(tasks, ", "));
}

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
    return read_texts(files, tokenizer_.get(), model_->max_length());
  }

  ModelTokenizer* tokenizer() override { return &tokenizer_; }

  // Of one task's model alone: others have no one set of classes.
  Tensor classify(const Example& inputs) override {
    check_has_classes(config_.model.tasks);
    return model_->answers(encode(inputs), 0).to(at::kFloat).softmax(-1);
  }

  std::vector<TextTask> text_tasks() const override { return text_tasks_of(config_.model.tasks); }

  std::vector<Tensor> answer_tasks(const Example& inputs, std::span<const int64_t> tasks) override {
    const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
    const bool own = config_.model.variant == GlueVariant::kTaskTokens;
    const Tensor shared = own ? Tensor() : model_->encode(rows.ids, rows.mask);
    std::vector<Tensor> answers;
    for (const int64_t task : tasks) {
      const Tensor all_of_it = at::full({rows.ids.size(0)}, task, rows.ids.options());
      const Tensor latents = own ? model_->encode(rows.ids, rows.mask, all_of_it) : shared;
      answers.push_back(readable(model_->answers(latents, task), config_.model.tasks[task]));
    }
    return answers;
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

  std::vector<InputView> views(const Example& inputs) const override {
    const bool token = model_->max_length() < config_.model.num_inputs;
    return {view_of_text(inputs, tokenizer_.get(), token ? "[CLS]" : "")};
  }

  Training* training() override { return training_.get(); }

 private:
  ModelTokenizer tokenizer_{config_.model.vocabulary_size, config_.data.tokenizer};
  std::unique_ptr<Training> training_ = glue_training(config_, model_);
};

// It has no latents to ask, and answers at once.
class GlueBertTask : public ModelTask<GlueBert, GlueExperiment<GlueBertConfig>, Application> {
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

  InputKind reads() const override { return InputKind::kText; }

  Example read(std::span<const File> files) const override {
    return read_texts(files, tokenizer_.get(), model_->max_length());
  }

  ModelTokenizer* tokenizer() override { return &tokenizer_; }

  Tensor classify(const Example& inputs) override {
    check_has_classes(config_.model.tasks);
    return answer_tasks(inputs, std::array<int64_t, 1>{0})[0];
  }

  std::vector<TextTask> text_tasks() const override { return text_tasks_of(config_.model.tasks); }

  std::vector<Tensor> answer_tasks(const Example& inputs, std::span<const int64_t> tasks) override {
    const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
    const Tensor outputs = model_->outputs(rows.ids, rows.mask);
    std::vector<Tensor> answers;
    for (const int64_t task : tasks) {
      answers.push_back(readable(model_->head(task, outputs), config_.model.tasks[task]));
    }
    return answers;
  }

  Training* training() override { return training_.get(); }

 private:
  ModelTokenizer tokenizer_{config_.model.vocabulary_size, config_.data.tokenizer};
  std::unique_ptr<Training> training_ = glue_training(config_, model_);
};

}  // namespace

TaskEntry glue_task() { return task_entry<GlueTask>("glue"); }

TaskEntry glue_bert_task() { return task_entry<GlueBertTask>("glue_bert"); }

}  // namespace perceiver
