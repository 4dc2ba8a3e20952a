// BERT up to its outputs: text in, a vector for each token out. What is made of them is a task's.
#pragma once

#include "perceiver/modalities/text.h"
#include "perceiver/nn/transformer.h"

namespace perceiver {

// The defaults are BERT Base's on SentencePiece (Tab. 11).
struct BertConfig {
  int64_t vocabulary_size = 32'000;
  int64_t num_inputs = 512;
  int64_t input_channels = 768;
  TransformerConfig transformer = {};
};

template <typename Visitor>
void fields(Visitor& visit, BertConfig& c) {
  visit({"vocabulary_size", "Tokens the tokenizer knows"}, c.vocabulary_size, at_least(1));
  visit({"num_inputs", "Tokens the model reads at once (M)"}, c.num_inputs, at_least(1));
  visit({"input_channels", "Channels of an element (C), through all layers"}, c.input_channels,
        at_least(1));
  visit({"transformer", "The layers between"}, c.transformer);
}

// All but the logits: what a masked BERT and GLUE's have in common, weights included.
class BertTrunk : public torch::nn::Module {
 public:
  explicit BertTrunk(const BertConfig& config);

  // ids [B, m] with m at most M, mask [B, m] (true: there is a token) -> [B, m, C]
  Tensor encode(const Tensor& ids, const Tensor& mask = {});

 protected:
  ModelSummary trunk_summary() const;
  const Tensor& token_weight() const { return input_->token_weight(); }

 private:
  const ArraySize inputs_;
  TextInput input_{nullptr};
  LayerNorm norm_{nullptr};
  Transformer encoder_{nullptr};
};

}  // namespace perceiver
