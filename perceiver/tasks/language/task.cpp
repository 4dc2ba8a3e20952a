#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

// Perceiver IO and BERT are asked the same.
template <typename Model, typename ModelConfig>
class MaskedLanguageTask : public Task {
 public:
  explicit MaskedLanguageTask(const Settings<ModelConfig>& config)
      : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  Tensor forward_random(int64_t batch, Split) override {
    const ModelConfig& c = config_.model;
    return model_(at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong));
  }

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

 private:
  Settings<ModelConfig> config_;
  Model model_;
};

}  // namespace

std::unique_ptr<Task> make_language(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<MaskedLanguageTask<Language, LanguageConfig>>(
      read_config<Settings<LanguageConfig>>(config, overrides));
}

std::unique_ptr<Task> make_bert(const File& config, std::span<const std::string> overrides) {
  return std::make_unique<MaskedLanguageTask<Bert, BertConfig>>(
      read_config<Settings<BertConfig>>(config, overrides));
}

}  // namespace perceiver
