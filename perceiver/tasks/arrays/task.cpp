#include <ATen/ATen.h>

#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/arrays/ask.h"
#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/learn.h"
#include "perceiver/tasks/arrays/loss.h"
#include "perceiver/tasks/arrays/model.h"
#include "perceiver/tasks/registry.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

Answered answered(const Modalities& outputs, const Example& batch, const std::string& name) {
  const auto asked = batch.find(array_key("queries", name, "asked"));
  return {outputs.at(name).to(at::kFloat), batch.at(array_key("queries", name, "target")),
          asked == batch.end() ? Tensor() : asked->second};
}

class ArraysTraining : public TrainingOf<ArraysExperiment> {
 public:
  ArraysTraining(const ArraysExperiment& experiment, ArraysModel model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    std::optional<ArrayTables> tables = tables_of(experiment_.model, experiment_.data, split);
    if (!tables) return {};
    const ExampleUse use = split == Split::kTrain ? ExampleUse::kTrain : ExampleUse::kMeasure;
    return std::make_unique<ArraysDataset>(experiment_.model, std::move(*tables), use);
  }

  Example random_batch(int64_t batch) const override {
    return random_examples(experiment_.model, batch, ExampleUse::kTrain);
  }

  Loss loss(const Example& batch) override {
    const Tensor losses = losses_of(model_(batch), batch, experiment_.train.label_smoothing);
    return {losses.sum(), at::full({}, static_cast<double>(losses.size(0)), losses.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>([this](const Example& batch) { return measure(batch); },
                                          array_figures);
  }

  // The first of the first query.
  MainMeasure main_measure() const override {
    const auto& [name, query] = *experiment_.model.queries.begin();
    return {figure_prefix(name, experiment_.model) + query.measure[0],
            lower_is_better(query.measure[0])};
  }
  FigureName figure_name(const std::string& key) const override {
    const bool share =
        key.ends_with("accuracy") || key.ends_with("f1") || key.ends_with("coverage");
    return {key, share ? Unit::kShare : Unit::kNumber};
  }

  double flops_per_example() const override {
    return training_flops(model_->summary(/*trains=*/true), *model_);
  }

 private:
  // -> [B]
  Tensor losses_of(const Modalities& outputs, const Example& batch, double smoothing) const {
    Tensor sum;
    for (const auto& [name, query] : experiment_.model.queries) {
      const Tensor losses =
          query.weight * query_losses(answered(outputs, batch, name), query, smoothing);
      sum = sum.defined() ? sum + losses : losses;
    }
    return sum;
  }

  Measures measure(const Example& batch) {
    const Modalities outputs = model_(batch);
    const Tensor losses = losses_of(outputs, batch, 0.0);
    Measures measures = {
        {"loss",
         {losses.to(at::kDouble).sum().item<double>(), static_cast<double>(losses.size(0))}}};
    for (const auto& [name, query] : experiment_.model.queries) {
      measure_query(answered(outputs, batch, name), query, model_->layout().queries.at(name),
                    figure_prefix(name, experiment_.model), measures);
    }
    return measures;
  }

  ArraysModel model_;
};

class ArraysTask : public ModelTask<ArraysModel, ArraysExperiment, Application> {
 public:
  using ModelTask::ModelTask;

  ModelSummary summary(Split split) const override {
    return model_->summary(split == Split::kTrain);
  }

  Example random_inputs(int64_t batch) const override {
    return random_examples(config_.model, batch, ExampleUse::kRun);
  }

  Tensor forward(const Example& inputs, Split) override {
    const Modalities outputs = model_(inputs);
    if (outputs.size() == 1) return outputs.begin()->second;
    std::vector<Tensor> values;
    for (const auto& [name, output] : outputs) values.push_back(output.flatten(1));
    return at::cat(values, 1);
  }

  InputKind reads() const override { return InputKind::kArrays; }

  // The first example of a file, as the inputs alone.
  Example read(std::span<const File> files) const override {
    return first_example(config_.model, one_of(files));
  }

  Tensor encode(const Example& inputs) override {
    return model_->encode(to_model(*model_, inputs));
  }

  // Of a model that is asked for one class alone.
  Tensor classify(const Example& inputs) override {
    const auto& [name, query] = *config_.model.queries.begin();
    const bool learned = query.at.empty() && query.like.empty() && query.learned <= 1;
    if (config_.model.queries.size() > 1 || !learned || !is_class(query.loss)) {
      fail("expected a model whose one query is learned, and asks for a class");
    }
    return model_(to_model(*model_, inputs)).at(name).squeeze(1).softmax(-1);
  }

  void encode_files(std::span<const File> files, LatentsFile& file, const Hooks&) override {
    encode_arrays(*model_, config_.model, one_of(files), file);
  }
  std::vector<std::string> questions() const override { return {"--at"}; }
  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>&) override {
    return answer_arrays(*model_, config_.model, file, query);
  }
  std::vector<InputView> views(const Example&) const override { return array_views(config_.model); }

  Training* training() override { return &training_; }

 private:
  static const File& one_of(std::span<const File> files) {
    if (files.size() == 1) return files[0];
    fail("a model of the task arrays takes one file with all arrays, got {}", files.size());
  }

  ArraysTraining training_{config_, model_};
};

// A config is read together with the data that it names, which say what it leaves open.
std::unique_ptr<Settings> read_arrays_settings(ConfigReader& reader, const std::string& source) {
  ArraysExperiment experiment;
  fields(reader, experiment);
  reader.finish();
  try {
    learn_from_data(experiment);
  } catch (const Error& e) {
    fail("{}: {}", source, e.what());
  }
  return std::make_unique<TaskSettings<ArraysTask>>(source, std::move(experiment));
}

}  // namespace

TaskEntry arrays_task() {
  TaskEntry entry = task_entry<ArraysTask>("arrays");
  entry.read = read_arrays_settings;
  return entry;
}

}  // namespace perceiver
