#include "perceiver/tasks/glue/training.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/glue/figures.h"

namespace perceiver {
namespace {

// -> [B, E]: what each text's own task is answered with
Tensor outputs_of(Glue& model, const Example& batch) {
  const Tensor& tasks = batch.at("task");
  return model->outputs(model->encode(batch.at("ids"), batch.at("mask"), tasks), tasks);
}

Tensor outputs_of(GlueBert& model, const Example& batch) {
  return model->outputs(batch.at("ids"), batch.at("mask"));
}

template <typename Model, typename ModelConfig>
class GlueTraining : public TrainingOf<GlueExperiment<ModelConfig>> {
  using Base = TrainingOf<GlueExperiment<ModelConfig>>;
  using Base::experiment_;

 public:
  GlueTraining(const GlueExperiment<ModelConfig>& experiment, Model model)
      : Base(experiment), model_(std::move(model)) {
    for (const std::string& task : tasks()) benchmarks_.push_back(glue_benchmark(task));
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    std::vector<GlueSplit> splits;
    for (const GlueBenchmark& benchmark : benchmarks_) {
      splits.push_back(
          glue_split(experiment_.data, benchmark, split, experiment_.train.unreadable));
    }
    const GlueSampling sampling =
        split == Split::kTrain ? experiment_.data.sampling : GlueSampling::kProportional;
    return std::make_unique<GlueDataset>(std::move(splits), tokenizer(), model_->max_length(),
                                         sampling);
  }

  Example random_batch(int64_t batch) const override {
    const int64_t length = model_->max_length();
    return {{"ids", at::randint(experiment_.model.vocabulary_size, {batch, length}, at::kLong)},
            {"mask", at::ones({batch, length}, at::kBool)},
            {"task", at::randint(std::ssize(tasks()), {batch}, at::kLong)},
            {"target", at::randint(2, {batch}, at::kFloat)},
            {"second", at::zeros({batch}, at::kBool)}};
  }

  // Every head reads every output, and only a text's own counts: the shapes are the same whatever
  // tasks a batch is of.
  Loss loss(const Example& batch) override {
    const Tensor outputs = outputs_of(model_, batch), targets = batch.at("target");
    Tensor sum = at::zeros({}, targets.options());
    for (size_t i = 0; i < benchmarks_.size(); ++i) {
      const Tensor answers = model_->head(static_cast<int64_t>(i), outputs).to(at::kFloat);
      const Tensor own = batch.at("task").eq(static_cast<int64_t>(i));
      sum = sum + (losses(answers, targets, benchmarks_[i]) * own).sum();
    }
    return {sum, at::full({}, static_cast<double>(targets.size(0)), targets.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<PredictionEvaluator>(
        [this](const Example& batch) { return predict(batch); },
        [this](const Predictions& all) { return glue_figures(all, tasks()); });
  }
  MainMeasure main_measure() const override { return {"average", /*lower_is_better=*/false}; }

  // "mnli.accuracy" as "mnli accuracy". All are shares of the best there is, correlations too, as
  // the paper's tables have them.
  FigureName figure_name(const std::string& key) const override {
    std::string name = key;
    std::ranges::replace(name, '.', ' ');
    return {name, Unit::kShare};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

  std::vector<std::string> labels() const override {
    return benchmarks_.size() == 1 ? benchmarks_[0].classes : std::vector<std::string>{};
  }

  std::vector<File> companions() const override {
    if (experiment_.data.tokenizer == "bytes") return {};
    return {{"spiece.model", read_file(experiment_.data.tokenizer).bytes}};
  }

 private:
  const std::vector<std::string>& tasks() const { return experiment_.model.tasks; }

  // answers [B, a], targets [B] -> [B]. What is another task's is any class, and does not count.
  static Tensor losses(const Tensor& answers, const Tensor& targets,
                       const GlueBenchmark& benchmark) {
    if (benchmark.is_value()) return (answers.squeeze(1) - targets).square();
    const Tensor classes = targets.to(at::kLong).clamp_max(benchmark.num_answers() - 1);
    return at::cross_entropy_loss(answers, classes, {}, at::Reduction::None);
  }

  Predictions predict(const Example& batch) {
    const Tensor outputs = outputs_of(model_, batch), tasks = batch.at("task");
    Tensor predictions = at::zeros(tasks.sizes(), tasks.options().dtype(at::kDouble));
    for (size_t i = 0; i < benchmarks_.size(); ++i) {
      const Tensor answers = model_->head(static_cast<int64_t>(i), outputs);
      const Tensor own = benchmarks_[i].is_value() ? answers.squeeze(1) : answers.argmax(-1);
      predictions = at::where(tasks.eq(static_cast<int64_t>(i)), own.to(at::kDouble), predictions);
    }
    return {predictions, at::stack({tasks.to(at::kDouble), batch.at("target").to(at::kDouble),
                                    batch.at("second").to(at::kDouble)},
                                   1)};
  }

  // Read when it is needed: a model can be looked at without it.
  const MaskingTokenizer& tokenizer() const {
    if (tokenizer_) return *tokenizer_;
    tokenizer_ = std::make_unique<MaskingTokenizer>(
        checked_tokenizer(experiment_.data.tokenizer, experiment_.model.vocabulary_size));
    const std::optional<int64_t> cls = model_->cls_id();
    if (cls && *cls != tokenizer_->special().cls) {
      fail("model.cls_id is {}, [CLS] of the tokenizer '{}' is {}; set model.cls_id={}", *cls,
           experiment_.data.tokenizer, tokenizer_->special().cls, tokenizer_->special().cls);
    }
    return *tokenizer_;
  }

  Model model_;
  std::vector<GlueBenchmark> benchmarks_;  // by task
  mutable std::unique_ptr<MaskingTokenizer> tokenizer_;
};

}  // namespace

std::unique_ptr<Training> glue_training(const GlueExperiment<GlueConfig>& experiment, Glue model) {
  return std::make_unique<GlueTraining<Glue, GlueConfig>>(experiment, std::move(model));
}

std::unique_ptr<Training> glue_training(const GlueExperiment<GlueBertConfig>& experiment,
                                        GlueBert model) {
  return std::make_unique<GlueTraining<GlueBert, GlueBertConfig>>(experiment, std::move(model));
}

}  // namespace perceiver
