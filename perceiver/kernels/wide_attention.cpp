#include "perceiver/kernels/wide_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "perceiver/kernels/cuda/glue.h"

namespace perceiver {
namespace {

// Scores that exist at one time where no kernel streams.
constexpr int64_t kMostScores = int64_t{1} << 29;

// A block of queries at a time by plain products.
Tensor attend_in_blocks(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                        double scale) {
  const int64_t queries = q.size(1);
  const int64_t block =
      std::max<int64_t>(1, kMostScores / std::max<int64_t>(1, q.size(0) * k.size(1)));
  const Tensor keys = k.transpose(1, 2);
  Tensor out = at::empty({q.size(0), queries, v.size(2)}, q.options());
  for (int64_t begin = 0; begin < queries; begin += block) {
    const int64_t count = std::min(block, queries - begin);
    Tensor scores = at::bmm(q.narrow(1, begin, count), keys).mul_(scale);
    if (kv_mask.defined()) {
      scores.masked_fill_(kv_mask.unsqueeze(1).logical_not(),
                          -std::numeric_limits<double>::infinity());
    }
    out.narrow(1, begin, count).copy_(at::bmm(scores.softmax(-1), v));
  }
  if (!kv_mask.defined()) return out;
  return at::where(kv_mask.any(1).view({-1, 1, 1}), out, out.new_zeros({}));
}

}  // namespace

Tensor attend_wide(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                   double scale) {
  if (cuda_hopper_refusal(q, k, v).empty()) {
    return cuda_attend_hopper(q, k, v, kv_mask, scale, /*log_sum=*/nullptr);
  }
  return attend_in_blocks(q, k, v, kv_mask, scale);
}

}  // namespace perceiver
