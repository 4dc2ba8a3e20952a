#include <ATen/ATen.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/language/classifier_training.h"
#include "perceiver/tasks/query.h"
#include "perceiver/tasks/registry.h"
#include "perceiver/tasks/text_view.h"

namespace perceiver {
namespace {

class TextClassifierTask : public ModelTask<TextClassifier, TextClassifierExperiment, Application> {
 public:
  using ModelTask::ModelTask;

  // -> [B, 1, classes]
  Example random_inputs(int64_t batch) const override {
    const TextClassifierConfig& c = config_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong)}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("ids")).unsqueeze(1);
  }

  InputKind reads() const override { return InputKind::kText; }

  Example read(std::span<const File> files) const override {
    return read_texts(files, tokenizer_.get(), config_.model.num_inputs, TextMarks::kClsAndSep);
  }

  ModelTokenizer* tokenizer() override { return &tokenizer_; }

  Tensor classify(const Example& inputs) override {
    return model_->decode(encode(inputs)).to(at::kFloat).softmax(-1);
  }

  Tensor encode(const Example& inputs) override {
    const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
    return model_->encode(rows.ids, rows.mask);
  }

  Answer answer(const LatentsFile& file, const Query& query,
                const std::vector<std::string>& labels) override {
    const Tensor logits = model_->decode(to_model(*model_, file.latents()));
    return answer_classes(logits.to(at::kFloat).softmax(-1), query, labels);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    return {view_of_text(inputs, tokenizer_.get())};
  }

  Training* training() override { return training_.get(); }

 private:
  ModelTokenizer tokenizer_{config_.model.vocabulary_size, config_.data.tokenizer};
  std::unique_ptr<Training> training_ = text_classifier_training(config_, model_);
};

}  // namespace

TaskEntry text_classifier_task() { return task_entry<TextClassifierTask>("text_classifier"); }

}  // namespace perceiver
