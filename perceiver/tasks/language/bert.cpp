#include "perceiver/tasks/language/bert.h"

#include <ATen/ATen.h>

namespace perceiver {

BertImpl::BertImpl(const BertConfig& config)
    : BertTrunk(config),
      bias_(register_parameter("bias", new_parameter({config.vocabulary_size}, kZeros))) {}

Tensor BertImpl::forward(const Tensor& ids, const Tensor& mask) {
  return at::linear(encode(ids, mask), token_weight(), bias_);
}

ModelSummary BertImpl::summary() const {
  ModelSummary s = trunk_summary();
  s.add("", {{.name = "logits",
              .parameters = bias_.numel(),
              .flops = 2 * s.inputs.index * token_weight().numel()}});
  return s;
}

}  // namespace perceiver
