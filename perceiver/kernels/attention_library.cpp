#include "perceiver/kernels/attention_library.h"

#include <ATen/ATen.h>

namespace perceiver {

std::string attend_library_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (c.dtype == at::kDouble) return "needs at most float32, got float64";
  return "";
}

Tensor attend_library(const AttentionInputs& in) {
  if (!in.kv_mask.defined()) {
    return at::scaled_dot_product_attention(in.q, in.k, in.v, {}, in.dropout);
  }
  // A query without a key would get NaN: its row looks at everything, and zeros take its place.
  const Tensor mask = in.kv_mask.view({in.kv_mask.size(0), 1, 1, in.kv_mask.size(1)});
  const Tensor any_key = mask.any(-1, /*keepdim=*/true);
  const Tensor seen = mask.logical_or(any_key.logical_not())
                          .expand({in.q.size(0), in.q.size(1), in.q.size(2), in.k.size(2)});
  const Tensor out = at::scaled_dot_product_attention(in.q, in.k, in.v, seen, in.dropout);
  return at::where(any_key, out, out.new_zeros({}));
}

}  // namespace perceiver
