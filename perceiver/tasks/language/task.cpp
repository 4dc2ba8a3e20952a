#include <ATen/ATen.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/language/fill.h"
#include "perceiver/tasks/language/masks.h"
#include "perceiver/tasks/language/query.h"
#include "perceiver/tasks/language/training.h"
#include "perceiver/tasks/registry.h"
#include "perceiver/tasks/text_view.h"

namespace perceiver {
namespace {

// Perceiver IO and BERT are asked the same.
template <typename Model, typename ModelConfig>
class MaskedLanguageTask : public ModelTask<Model, LanguageExperiment<ModelConfig>, Application> {
  using Base = ModelTask<Model, LanguageExperiment<ModelConfig>, Application>;
  using Base::config_;
  using Base::model_;

 public:
  using Base::Base;

  Example random_inputs(int64_t batch) const override {
    const ModelConfig& c = config_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong)}};
  }

  Tensor forward(const Example& inputs, Split) override { return model_(inputs.at("ids")); }

  InputKind reads() const override { return InputKind::kText; }

  Example read(std::span<const File> files) const override {
    return read_masked_texts(files, tokenizer_.get(), config_.model.num_inputs);
  }

  ModelTokenizer* tokenizer() override { return &tokenizer_; }

  Tensor encode(const Example& inputs) override {
    if constexpr (std::is_same_v<Model, Language>) {
      const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
      const bool bytes = is_of_bytes(tokenizer_.get());
      return model_->encode(bytes ? with_masked_spaces(rows.ids) : rows.ids, rows.mask);
    }
    return Application::encode(inputs);
  }

  // Queries for words have to know which tokens those are. A missing word gets as many as the word
  // that fits best has.
  void encode_files(std::span<const File> files, LatentsFile& file, const Hooks& hooks) override {
    if constexpr (std::is_same_v<Model, Language>) {
      const Tokenizer& tokenizer = tokenizer_.get();
      const Example inputs = read_masked_texts(files, tokenizer, config_.model.num_inputs,
                                               lengths_of_missing_words(*model_, tokenizer, files));
      const auto rows = static_cast<double>(inputs.at("ids").size(0));
      hooks.begin("encode", attention_work(this->summary(Split::kEval), "encoder.") * rows);
      file.arrays = {{"latents", encode(inputs).to(at::kCPU, at::kFloat)},
                     {"ids", inputs.at("ids").to(at::kInt)}};
    } else {
      Application::encode_files(files, file, hooks);
    }
  }

  std::vector<std::string> questions() const override { return {"--words"}; }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>& labels) override {
    if constexpr (std::is_same_v<Model, Language>) {
      return answer_words(*model_, tokenizer_.get(), file, query);
    }
    return Application::answer(file, query, labels);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    return {view_of_text(inputs, tokenizer_.get())};
  }

  Training* training() override { return training_.get(); }

 private:
  ModelTokenizer tokenizer_{config_.model.vocabulary_size, config_.data.tokenizer};
  std::unique_ptr<Training> training_ = language_training(config_, model_);
};

}  // namespace

TaskEntry language_task() {
  return task_entry<MaskedLanguageTask<Language, LanguageConfig>>("language");
}

TaskEntry bert_task() { return task_entry<MaskedLanguageTask<Bert, BertConfig>>("bert"); }

}  // namespace perceiver
