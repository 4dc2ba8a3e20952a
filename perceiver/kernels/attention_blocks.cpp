#include "perceiver/kernels/attention_blocks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention_backward.h"
#include "perceiver/kernels/attention_library.h"
#include "perceiver/kernels/cuda/glue.h"

namespace perceiver {

std::string attend_blocks_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (std::max(c.qk_channels, c.v_channels) <= kMostLibraryChannels) {
    return fmt::format("is for heads of more than {} channels", kMostLibraryChannels);
  }
  if (c.dropout) return "does not drop attention weights";
  if (!cuda_scores_take(c.dtype)) return "has no kernel for this dtype, or was built without CUDA";
  return "";
}

static AttentionResult forward(const AttentionInputs& in) {
  const int64_t queries = in.q.size(2), block = queries_at_once(in);
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.q.size(3)));
  const Tensor keys = in.k.transpose(2, 3);
  std::vector<Tensor> outs, sums;
  for (int64_t begin = 0; begin < queries; begin += block) {
    const Tensor q = in.q.narrow(2, begin, std::min(block, queries - begin));
    const Tensor weights = at::matmul(q, keys).contiguous();
    sums.push_back(cuda_softmax(weights, in.kv_mask, scale));
    outs.push_back(at::matmul(weights, in.v));
  }
  return {at::cat(outs, 2), at::cat(sums, 2)};
}

Tensor attend_blocks(const AttentionInputs& in) { return attend_with_backward(in, forward); }

}  // namespace perceiver
