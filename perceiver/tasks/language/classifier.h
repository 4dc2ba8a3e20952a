// Classification of texts as Hugging Face's PerceiverForSequenceClassification has it: one learned
// query, one linear layer. The paper has no such model; its own is GLUE's (tasks/glue).
#pragma once

#include "perceiver/modalities/text.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"

namespace perceiver {

// The defaults are Hugging Face's around the released bytes model, which is fine-tuned.
struct TextClassifierConfig {
  int64_t vocabulary_size = ByteTokenizer::kVocabularySize;
  int64_t num_inputs = 2048;
  int64_t input_channels = 768;
  int64_t num_classes = 2;
  std::optional<int64_t> query_channels = {};
  EncoderConfig encoder = {.num_latents = 256,
                           .latent_channels = 1280,
                           .num_blocks = 1,
                           .self_attends_per_block = 26,
                           .cross_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280},
                           .self_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}};
  DecoderConfig decoder = {};
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, TextClassifierConfig& c) {
  visit({"vocabulary_size", "Tokens the tokenizer knows; of bytes: 262"}, c.vocabulary_size,
        at_least(1));
  visit({"num_inputs", "Tokens the model reads at once (M)"}, c.num_inputs, at_least(1));
  visit({"input_channels", "Channels of an input element (C)"}, c.input_channels, at_least(1));
  visit({"num_classes", "Classes the model tells apart"}, c.num_classes, at_least(1));
  visit({"query_channels", "Channels of the query (Q); not set: the latents'"}, c.query_channels,
        at_least(1));
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit(kSemanticsKey, c.semantics);
}

class TextClassifierImpl : public torch::nn::Module {
 public:
  explicit TextClassifierImpl(const TextClassifierConfig& config);

  // ids [B, m] with m at most M, mask [B, m] (true: there is a token) -> latents [B, N, D]
  Tensor encode(const Tensor& ids, const Tensor& mask = {});

  Tensor decode(const Tensor& latents);  // [B, N, D] -> logits [B, classes]

  // ids [B, m], mask [B, m] -> logits [B, classes]
  Tensor forward(const Tensor& ids, const Tensor& mask = {});

  ModelSummary summary() const;  // of a text of M tokens

 private:
  TextClassifierConfig config_;
  TextInput input_{nullptr};
  Encoder encoder_{nullptr};
  LearnedQuery query_{nullptr};
  Decoder decoder_{nullptr};
};
TORCH_MODULE(TextClassifier);

}  // namespace perceiver
