#include <ATen/ATen.h>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/text_view.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

using Config = Settings<TextClassifierConfig>;

class TextClassification : public Task {
 public:
  explicit TextClassification(const Config& config) : config_(config), model_(config.model) {}

  torch::nn::Module& model() override { return *model_; }

  ModelSummary summary(Split) const override { return model_->summary(); }

  // -> [B, 1, classes]
  Example random_inputs(int64_t batch) const override {
    const TextClassifierConfig& c = config_.model;
    return {{"ids", at::randint(c.vocabulary_size, {batch, c.num_inputs}, at::kLong)}};
  }

  Tensor forward(const Example& inputs, Split) override {
    return model_(inputs.at("ids")).unsqueeze(1);
  }

  Example read(std::span<const File> files) const override {
    return read_bytes(files, config_.model.vocabulary_size, config_.model.num_inputs,
                      TextMarks::kClsAndSep);
  }

  Tensor classify(const Example& inputs) override {
    return model_->decode(encode(inputs)).to(at::kFloat).softmax(-1);
  }

  Tensor encode(const Example& inputs) override {
    const TokenBatch rows = text_rows(inputs, model_->parameters().front().device());
    return model_->encode(rows.ids, rows.mask);
  }

  std::vector<InputView> views(const Example& inputs) const override {
    return {view_of_bytes(inputs)};
  }

 private:
  Config config_;
  TextClassifier model_;
};

}  // namespace

std::unique_ptr<Task> make_text_classifier(const File& config,
                                           std::span<const std::string> overrides) {
  return std::make_unique<TextClassification>(read_config<Config>(config, overrides));
}

}  // namespace perceiver
