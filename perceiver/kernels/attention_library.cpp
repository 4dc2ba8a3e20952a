#include "perceiver/kernels/attention_library.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/SDPBackend.h>

namespace perceiver {

std::string attend_library_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (c.dtype == at::kDouble) return "needs at most float32, got float64";
  return "";
}

// Where several of LibTorch's kernels can, cuDNN's is the fastest on the paper's shapes: on an
// H200, language's heads of 32 and 160 channels in 0.058 ms where the next takes 0.098, forward and
// backward in 0.31 where it takes 0.67 (batch 32).
static void prefer_cudnn() {
  using enum at::SDPBackend;
  static const bool once = [] {
    std::vector<int64_t> order;
    for (const auto backend :
         {cudnn_attention, flash_attention, efficient_attention, math, overrideable}) {
      order.push_back(static_cast<int64_t>(backend));
    }
    at::globalContext().setSDPPriorityOrder(order);
    return true;
  }();
  (void)once;
}

Tensor attend_library(const AttentionInputs& in) {
  prefer_cudnn();
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
