#include "perceiver/kernels/attention_hopper.h"

#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention_backward.h"
#include "perceiver/kernels/attention_library.h"
#include "perceiver/kernels/cuda/glue.h"
#include "perceiver/kernels/wide_attention.h"

namespace perceiver {

std::string attend_hopper_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (c.qk_channels != c.v_channels || c.qk_channels <= kMostLibraryChannels) {
    return fmt::format("is for heads of more than {} channels, as many of keys as of values",
                       kMostLibraryChannels);
  }
  if (c.dropout) return "does not drop attention weights";
  return cuda_hopper_refusal(c);
}

// [B, H, N, F] -> [B * H, N, F], rows on 16 bytes
static Tensor heads_apart(const Tensor& x) {
  const int64_t channels = x.size(3);
  const Tensor rows = x.flatten(0, 1);
  return at::constant_pad_nd(rows, {0, padded_channels(channels) - channels})
      .narrow(2, 0, channels);
}

static AttentionResult forward(const AttentionInputs& in) {
  const int64_t batch = in.q.size(0), heads = in.q.size(1), queries = in.q.size(2);
  const Tensor mask = in.kv_mask.defined()
                          ? in.kv_mask.unsqueeze(1).expand({batch, heads, -1}).flatten(0, 1)
                          : in.kv_mask;
  Tensor log_sum;
  const Tensor out =
      cuda_attend_hopper(heads_apart(in.q), heads_apart(in.k), heads_apart(in.v), mask,
                         1.0 / std::sqrt(static_cast<double>(in.q.size(3))), &log_sum);
  return {out.narrow(2, 0, in.v.size(3)).unflatten(0, {batch, heads}),
          log_sum.view({batch, heads, queries})};
}

Tensor attend_hopper(const AttentionInputs& in) { return attend_with_backward(in, forward); }

}  // namespace perceiver
