#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "perceiver/kernels/attention/attention_kernels.h"

namespace perceiver {

Tensor attend_reference(const AttentionInputs& in) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.q.size(-1)));
  Tensor scores = at::matmul(in.q, in.k.transpose(-2, -1)) * scale;  // [B, H, N, M]
  Tensor weights;
  if (in.kv_mask.defined()) {
    const Tensor mask = in.kv_mask.view({in.kv_mask.size(0), 1, 1, in.kv_mask.size(1)});
    scores = scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
    // A row of all -inf has softmax NaN; the definition gives it zeros. The scores are replaced
    // before the softmax too, or its gradient would be NaN.
    const Tensor any_key = mask.any(-1, /*keepdim=*/true);
    const Tensor zero = scores.new_zeros({});
    weights = at::where(any_key, at::softmax(at::where(any_key, scores, zero), -1), zero);
  } else {
    weights = at::softmax(scores, -1);
  }
  if (in.dropout > 0.0) weights = at::dropout(weights, in.dropout, /*train=*/true);
  return at::matmul(weights, in.v);
}

}  // namespace perceiver
