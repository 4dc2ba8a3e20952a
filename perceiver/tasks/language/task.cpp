#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "perceiver/core/error.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/data.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/settings.h"

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

// Perceiver IO and BERT are asked the same.
template <typename Model, typename ModelConfig>
class MaskedLanguageTask : public Task {
 public:
  using Config = Experiment<ModelConfig, LanguageDataConfig>;

  explicit MaskedLanguageTask(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Tensor forward_random(int64_t batch, Split) override {
    const ModelConfig& c = config_.model;
    return model_(at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong));
  }

  std::string config() const override { return to_toml(config_); }
  const TrainConfig& train_config() const override { return config_.train; }
  const EvalConfig& eval_config() const override { return config_.eval; }

  double train_flops() const override {
    if constexpr (std::is_same_v<Model, Language>) {
      const double queries = config_.data.mask_probability * config_.model.num_inputs;
      return 3.0 * model_->summary(std::lround(queries)).flops();
    }
    return Task::train_flops();
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const LanguageDataConfig& data = config_.data;
    if (split == Split::kEval && data.held_out.empty() && data.held_out_share == 0.0) return {};
    return std::make_unique<MaskedTextDataset>(language_documents(data, split == Split::kEval),
                                               tokenizer(), data, config_.model.num_inputs);
  }

  Loss loss(const Example& batch) override {
    const Tensor& targets = batch.at("targets");
    return {cross_entropy(logits_at(model_, batch), targets),
            targets.ne(kNoTarget).sum().to(at::kFloat)};
  }

  Measures measure(const Example& batch) override {
    const Tensor logits = logits_at(model_, batch).to(at::kFloat), targets = batch.at("targets");
    const double nats = cross_entropy(logits, targets).template item<double>();
    const double masked = targets.ne(kNoTarget).sum().template item<double>();
    const double bytes = batch.at("bytes").sum().template item<double>();
    const double right = logits.argmax(-1).eq(targets).sum().template item<double>();
    return {{"loss", {nats, masked}},
            {"bits_per_byte", {nats / std::numbers::ln2, bytes}},
            {"masked_accuracy", {right, masked}}};
  }

  MainMeasure main_measure() const override { return {"bits_per_byte"}; }

  std::vector<File> companions() const override {
    if (config_.data.tokenizer == "bytes") return {};
    return {{"spiece.model", read_file(config_.data.tokenizer).bytes}};
  }

 private:
  // logits [B, O, vocabulary], targets [B, O] -> the sum over those there are, in nats
  static Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
    return at::cross_entropy_loss(logits.flatten(0, 1).to(at::kFloat), targets.flatten(), {},
                                  at::Reduction::Sum, kNoTarget);
  }

  // Read when it is needed: a model can be looked at without it.
  const MaskingTokenizer& tokenizer() const {
    if (tokenizer_) return *tokenizer_;
    tokenizer_ = std::make_unique<MaskingTokenizer>(config_.data.tokenizer);
    const int64_t size = tokenizer_->vocabulary_size(), room = config_.model.vocabulary_size;
    if (size > room) {
      fail("{}: has {} ids, more than model.vocabulary_size ({})", config_.data.tokenizer, size,
           room);
    }
    return *tokenizer_;
  }

  Config config_;
  Model model_;
  mutable std::unique_ptr<MaskingTokenizer> tokenizer_;
};

template <typename Model, typename ModelConfig>
std::unique_ptr<Task> make(const File& config, std::span<const std::string> overrides) {
  using MadeTask = MaskedLanguageTask<Model, ModelConfig>;
  return std::make_unique<MadeTask>(read_config<typename MadeTask::Config>(config, overrides));
}

}  // namespace

std::unique_ptr<Task> make_language(const File& config, std::span<const std::string> overrides) {
  return make<Language, LanguageConfig>(config, overrides);
}

std::unique_ptr<Task> make_bert(const File& config, std::span<const std::string> overrides) {
  return make<Bert, BertConfig>(config, overrides);
}

}  // namespace perceiver
