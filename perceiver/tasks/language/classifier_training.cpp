#include "perceiver/tasks/language/classifier_training.h"

#include <ATen/ATen.h>

#include "perceiver/model/training_flops.h"
#include "perceiver/tasks/statistics.h"

namespace perceiver {
namespace {

class TextClassifierTraining : public TrainingOf<TextClassifierExperiment> {
 public:
  TextClassifierTraining(const TextClassifierExperiment& experiment, TextClassifier model)
      : TrainingOf(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const Unreadable unreadable = experiment_.train.unreadable;
    std::vector<LabelledText> texts = labelled_split(experiment_.data, split, unreadable);
    if (texts.empty()) return {};
    return std::make_unique<LabelledTextDataset>(std::move(texts), names(), tokenizer(),
                                                 experiment_.model.num_inputs, unreadable);
  }

  Example random_batch(int64_t batch) const override {
    const TextClassifierConfig& c = experiment_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong)},
            {"mask", at::ones({batch, c.num_inputs}, at::kBool)},
            {"label", at::randint(c.num_classes, {batch}, at::kLong)}};
  }

  Loss loss(const Example& batch) override {
    const Tensor losses =
        losses_of(logits_of(batch), batch.at("label"), experiment_.train.label_smoothing);
    return {losses.sum(), at::full({}, static_cast<double>(losses.size(0)), losses.options())};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<PredictionEvaluator>(
        [this](const Example& batch) { return predict(batch); },
        [this](const Predictions& all) { return figures(all); });
  }
  MainMeasure main_measure() const override { return {"accuracy", /*lower_is_better=*/false}; }
  FigureName figure_name(const std::string& key) const override {
    if (key == "accuracy") return {key, Unit::kShare};
    if (key == "macro_f1") return {"macro F1", Unit::kShare};
    if (key == "matthews") return {"Matthews", Unit::kShare};
    return {key};
  }

  double flops_per_example() const override { return training_flops(model_->summary(), *model_); }

  std::vector<std::string> labels() const override {
    return experiment_.data.train.empty() ? model_names_ : names();
  }
  void match_classes(const std::vector<std::string>& names) override {
    names_.clear();
    model_names_ = names;
  }

  std::vector<File> companions() const override {
    if (experiment_.data.tokenizer == "bytes") return {};
    return {{"spiece.model", read_file(experiment_.data.tokenizer).bytes}};
  }

 private:
  const std::vector<std::string>& names() const {
    if (names_.empty()) {
      names_ = text_classes(experiment_.data, experiment_.model.num_classes, model_names_,
                            experiment_.train.unreadable);
    }
    return names_;
  }

  Tensor logits_of(const Example& batch) {
    return model_(batch.at("ids"), batch.at("mask")).to(at::kFloat);
  }

  // logits [B, classes], labels [B] -> [B], in nats
  static Tensor losses_of(const Tensor& logits, const Tensor& labels, double smoothing) {
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::None, -100, smoothing);
  }

  // -> predictions [B, 2], the class and the loss, targets [B]
  Predictions predict(const Example& batch) {
    const Tensor logits = logits_of(batch), labels = batch.at("label");
    const Tensor losses = losses_of(logits, labels, 0.0);
    return {at::stack({logits.argmax(-1).to(at::kDouble), losses.to(at::kDouble)}, 1), labels};
  }

  std::map<std::string, double> figures(const Predictions& all) const {
    const Tensor predictions = all.predictions.select(1, 0), targets = all.targets;
    std::map<std::string, double> figures = {
        {"accuracy", predictions.eq(targets).to(at::kDouble).mean().item<double>()},
        {"loss", all.predictions.select(1, 1).mean().item<double>()},
        {"macro_f1", macro_f1(predictions, targets)}};
    if (experiment_.model.num_classes == 2) {
      figures["matthews"] = matthews_correlation(predictions, targets);
    }
    return figures;
  }

  // Read when it is needed: a model can be looked at without it.
  const MaskingTokenizer& tokenizer() const {
    if (!tokenizer_) {
      tokenizer_ = std::make_unique<MaskingTokenizer>(
          checked_tokenizer(experiment_.data.tokenizer, experiment_.model.vocabulary_size));
    }
    return *tokenizer_;
  }

  TextClassifier model_;
  std::vector<std::string> model_names_;    // empty: the model's classes have none yet
  mutable std::vector<std::string> names_;  // of the classes, once they were asked for
  mutable std::unique_ptr<MaskingTokenizer> tokenizer_;
};

}  // namespace

std::unique_ptr<Training> text_classifier_training(const TextClassifierExperiment& experiment,
                                                   TextClassifier model) {
  return std::make_unique<TextClassifierTraining>(experiment, std::move(model));
}

}  // namespace perceiver
