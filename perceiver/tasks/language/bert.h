// BERT, the Transformer that Sec. 4.1 compares with: the same text in, the same logits out. As the
// paper's figures have it, without BERT's extra layer before the logits.
#pragma once

#include "perceiver/modalities/bert_trunk.h"

namespace perceiver {

class BertImpl : public BertTrunk {
 public:
  explicit BertImpl(const BertConfig& config);

  // ids [B, m] with m at most M, mask [B, m] (true: there is a token) -> logits [B, m, vocabulary]
  Tensor forward(const Tensor& ids, const Tensor& mask = {});

  ModelSummary summary() const;

 private:
  Tensor bias_;  // [vocabulary]
};
TORCH_MODULE(Bert);

}  // namespace perceiver
