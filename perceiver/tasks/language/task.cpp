#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "perceiver/core/error.h"
#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/data.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/language/text_view.h"
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

  Example random_inputs(int64_t batch) const override {
    const ModelConfig& c = config_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong)}};
  }

  Tensor forward(const Example& inputs, Split) override { return model_(inputs.at("ids")); }

  Example read(std::span<const File> files) const override {
    return read_bytes(files, config_.model.vocabulary_size, config_.model.num_inputs);
  }

  Tensor encode(const Example& inputs) override {
    if constexpr (std::is_same_v<Model, Language>) {
      const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
      return model_->encode(rows.ids, rows.mask);
    }
    return Task::encode(inputs);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    return {view_of_bytes(inputs)};
  }

  std::string config() const override { return to_toml(config_); }
  const TrainConfig& train_config() const override { return config_.train; }
  const EvalConfig& eval_config() const override { return config_.eval; }

  double train_flops() const override {
    if constexpr (std::is_same_v<Model, Language>) {
      return 3.0 * model_->summary(usual_num_masked()).flops();
    }
    return Task::train_flops();
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    LanguageDataConfig data = config_.data;
    if (split == Split::kEval && data.held_out.empty() && data.held_out_share == 0.0) return {};
    if (split == Split::kEval) data.shorter_share = 0.0;  // measured on full texts alone
    return std::make_unique<MaskedTextDataset>(language_documents(data, split == Split::kEval),
                                               tokenizer(), data, config_.model.num_inputs);
  }

  Example random_batch(int64_t batch) const override {
    const ModelConfig& c = config_.model;
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

  int64_t usual_num_masked() const {
    return std::lround(config_.data.mask_probability *
                       static_cast<double>(config_.model.num_inputs));
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
