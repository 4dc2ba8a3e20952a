#include "perceiver/tasks/language/training.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "perceiver/model/training_flops.h"

namespace perceiver {
namespace {

// ids [B, M], mask [B, M], positions [B, O] -> logits [B, O, vocabulary]
Tensor logits_at(Language& model, const Example& batch) {
  return model->decode(model->encode(batch.at("ids"), batch.at("mask")), batch.at("positions"));
}

Tensor logits_at(Bert& model, const Example& batch) {
  const Tensor logits = model(batch.at("ids"), batch.at("mask"));
  return at::take_along_dim(logits, batch.at("positions").unsqueeze(-1), 1);
}

template <typename Model, typename ModelConfig>
class LanguageTraining : public TrainingOf<LanguageExperiment<ModelConfig>> {
  using Base = TrainingOf<LanguageExperiment<ModelConfig>>;
  using Base::experiment_;

 public:
  LanguageTraining(const LanguageExperiment<ModelConfig>& experiment, Model model)
      : Base(experiment), model_(std::move(model)) {}

  std::unique_ptr<Dataset> dataset(Split split) const override {
    LanguageDataConfig data = experiment_.data;
    if (split == Split::kEval && data.held_out.empty() && data.held_out_share == 0.0) return {};
    // Measured on full texts and whole words alone.
    if (split == Split::kEval) data.shorter_share = data.parts_shown = 0.0;
    const MaskingTokenizer& tokens = tokenizer();
    return std::make_unique<MaskedTextDataset>(texts(data, split), tokens, data,
                                               experiment_.model.num_inputs);
  }

  Example random_batch(int64_t batch) const override {
    const ModelConfig& c = experiment_.model;
    const int64_t masked = std::max<int64_t>(1, usual_num_masked());
    const auto ids = [&](int64_t count) {
      return at::randint(c.vocabulary_size, {batch, count}, at::kLong);
    };
    return {{"ids", ids(c.num_inputs)},
            {"mask", at::ones({batch, c.num_inputs}, at::kBool)},
            {"positions", std::get<1>(at::rand({batch, c.num_inputs}).topk(masked))},
            {"targets", ids(masked)},
            {"bytes", at::ones({batch, masked}, at::kLong)}};
  }

  Loss loss(const Example& batch) override {
    const Tensor& targets = batch.at("targets");
    return {cross_entropy(logits_at(model_, batch), targets),
            targets.ne(kNoTarget).sum().to(at::kFloat)};
  }

  std::unique_ptr<Evaluator> evaluator() override {
    return std::make_unique<SumEvaluator>([this](const Example& batch) { return measure(batch); });
  }
  MainMeasure main_measure() const override { return {"bits_per_byte"}; }
  FigureName figure_name(const std::string& key) const override {
    if (key == "bits_per_byte") return {"bits a byte"};
    if (key == "masked_accuracy") return {"masked right", Unit::kShare};
    return {key};
  }

  double flops_per_example() const override {
    if constexpr (std::is_same_v<Model, Language>) {
      return training_flops(model_->summary(usual_num_masked()), *model_);
    }
    return training_flops(model_->summary(), *model_);
  }

  std::vector<File> companions() const override {
    if (experiment_.data.tokenizer == "bytes") return {};
    return {{"spiece.model", read_file(experiment_.data.tokenizer).bytes}};
  }

 private:
  MaskedTextDataset::Texts texts(const LanguageDataConfig& data, Split split) const {
    if (split == Split::kEval || data.train.empty() || !is_streamed(data)) {
      return language_documents(data, split == Split::kEval);
    }
    return language_corpus(data, tokenizer().usual_bytes(experiment_.model.num_inputs),
                           static_cast<uint64_t>(experiment_.train.seed));
  }

  Measures measure(const Example& batch) {
    const Tensor logits = logits_at(model_, batch).to(at::kFloat), targets = batch.at("targets");
    const double nats = cross_entropy(logits, targets).template item<double>();
    const double masked = targets.ne(kNoTarget).sum().template item<double>();
    const double bytes = batch.at("bytes").sum().template item<double>();
    const double right = logits.argmax(-1).eq(targets).sum().template item<double>();
    return {{"loss", {nats, masked}},
            {"bits_per_byte", {nats / std::numbers::ln2, bytes}},
            {"masked_accuracy", {right, masked}}};
  }

  // logits [B, O, vocabulary], targets [B, O] -> the sum over those there are, in nats
  static Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
    return at::cross_entropy_loss(logits.flatten(0, 1).to(at::kFloat), targets.flatten(), {},
                                  at::Reduction::Sum, kNoTarget);
  }

  int64_t usual_num_masked() const {
    return std::lround(experiment_.data.mask_probability *
                       static_cast<double>(experiment_.model.num_inputs));
  }

  // Read when it is needed: a model can be looked at without it.
  const MaskingTokenizer& tokenizer() const {
    if (tokenizer_) return *tokenizer_;
    tokenizer_ = std::make_unique<MaskingTokenizer>(
        checked_tokenizer(experiment_.data.tokenizer, experiment_.model.vocabulary_size));
    return *tokenizer_;
  }

  Model model_;
  mutable std::unique_ptr<MaskingTokenizer> tokenizer_;
};

}  // namespace

std::unique_ptr<Training> language_training(const LanguageExperiment<LanguageConfig>& experiment,
                                            Language model) {
  return std::make_unique<LanguageTraining<Language, LanguageConfig>>(experiment, std::move(model));
}

std::unique_ptr<Training> language_training(const LanguageExperiment<BertConfig>& experiment,
                                            Bert model) {
  return std::make_unique<LanguageTraining<Bert, BertConfig>>(experiment, std::move(model));
}

}  // namespace perceiver
