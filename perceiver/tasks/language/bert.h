// BERT, the Transformer that Sec. 4.1 compares with: the same text in, the same logits out. As the
// paper's figures have it, without BERT's extra layer before the logits.
#pragma once

#include "perceiver/modalities/text.h"
#include "perceiver/nn/transformer.h"

namespace perceiver {

// The defaults are BERT Base's on SentencePiece (Tab. 11).
struct BertConfig {
  int64_t vocabulary_size = 32'000;
  int64_t num_inputs = 512;      // M
  int64_t input_channels = 768;  // C, through all layers
  TransformerConfig transformer = {};
};

template <typename Visitor>
void fields(Visitor& visit, BertConfig& c) {
  visit("vocabulary_size", c.vocabulary_size, at_least(1));
  visit("num_inputs", c.num_inputs, at_least(1));
  visit("input_channels", c.input_channels, at_least(1));
  visit("transformer", c.transformer);
}

class BertImpl : public torch::nn::Module {
 public:
  explicit BertImpl(const BertConfig& config);

  // ids [B, m] with m at most M, mask [B, m] (true: there is a token) -> logits [B, m, vocabulary]
  Tensor forward(const Tensor& ids, const Tensor& mask = {});

  ModelSummary summary() const;

 private:
  BertConfig config_;
  TextInput input_{nullptr};
  LayerNorm norm_{nullptr};
  Transformer encoder_{nullptr};
  Tensor bias_;  // [vocabulary]
};
TORCH_MODULE(Bert);

}  // namespace perceiver
