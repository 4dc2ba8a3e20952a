#include "perceiver/kernels/wide_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "perceiver/kernels/cuda/glue.h"

namespace perceiver {
namespace {

constexpr double kEpsilon = 1e-5;  // LayerNorm's
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

Tensor normalised_padded(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant) {
  if (cuda_rows_take(x, dtype)) return cuda_normalised(x, dtype, padded, constant);
  const int64_t channels = x.size(-1);
  const Tensor normed = at::layer_norm(x, {channels}, {}, {}, kEpsilon).to(dtype);
  if (padded == channels) return normed;
  Tensor out = at::constant_pad_nd(normed, {0, padded - channels});
  if (constant) out.select(-1, channels).fill_(1.0);
  return out;
}

AddedRows add_normalised(const Tensor& x, const Tensor& y) {
  if (cuda_rows_take(x, x.scalar_type()) && x.dtype() == y.dtype()) {
    return cuda_add_normalised(x, y);
  }
  const Tensor sum = x + y;
  return {sum, normalised_padded(sum, sum.scalar_type(), sum.size(-1), false)};
}

Tensor attend_wide(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                   double scale) {
  if (cuda_hopper_refusal(q, k, v).empty()) {
    return cuda_attend_hopper(q, k, v, kv_mask, scale, /*log_sum=*/nullptr);
  }
  return attend_in_blocks(q, k, v, kv_mask, scale);
}

}  // namespace perceiver
