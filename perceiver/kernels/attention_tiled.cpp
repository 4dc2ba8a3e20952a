#include "perceiver/kernels/attention_tiled.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

// A tile of scores, 256 x 512 floats, stays in a core's L2 cache while it is worked on; both
// sides are long enough for BLAS to run near its peak.
constexpr int64_t kQueryTile = 256;
constexpr int64_t kKeyTile = 512;
constexpr int64_t kSmallestQueryTile = 16;

// What stands for the maximum before any key was seen: finite, so that differences are never NaN.
constexpr double kNothingSeen = -1e30;

// Queries [n, F] of one head against all its keys [M, F] and values [M, V] into out [n, V].
void attend_rows(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& hidden,
                 Tensor out) {
  const int64_t rows = q.size(0), keys = k.size(0);
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(1)));
  const Tensor scaled = q * scale;
  // Sums over many tiles are kept in float32 where the inputs are narrower.
  const auto wide = q.options().dtype(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const bool narrow = wide.dtype() != q.dtype();
  Tensor maximum = at::full({rows, 1}, kNothingSeen, wide);
  Tensor sum = at::zeros({rows, 1}, wide);
  Tensor weighted = at::zeros({rows, v.size(1)}, wide);
  Tensor buffer = at::empty({rows * std::min(keys, kKeyTile)}, q.options());

  for (int64_t begin = 0; begin < keys; begin += kKeyTile) {
    const int64_t count = std::min(kKeyTile, keys - begin);
    Tensor scores = buffer.narrow(0, 0, rows * count).view({rows, count});
    at::mm_out(scores, scaled, k.narrow(0, begin, count).t());
    Tensor wide_scores = narrow ? scores.to(wide) : scores;
    if (hidden.defined()) {
      wide_scores.masked_fill_(hidden.narrow(0, begin, count),
                               -std::numeric_limits<double>::infinity());
    }
    // A tile may raise the maximum; what was summed before it is scaled down to match.
    const Tensor raised = at::maximum(maximum, wide_scores.amax(1, /*keepdim=*/true));
    const Tensor rescale = maximum.sub_(raised).exp_();
    wide_scores.sub_(raised).exp_();
    sum.mul_(rescale).add_(wide_scores.sum(1, /*keepdim=*/true));
    weighted.mul_(rescale);
    const Tensor values = v.narrow(0, begin, count);
    if (narrow) {
      weighted.add_(at::mm(wide_scores.to(q.scalar_type()), values));
    } else {
      weighted.addmm_(wide_scores, values);
    }
    maximum = raised;
  }
  // No key seen: the sum is 0 and the rows stay zeros.
  out.copy_(weighted.div_(at::where(sum > 0, sum, at::ones({}, wide))));
}

}  // namespace

std::string attend_tiled_refusal(const AttentionCase& c) {
  if (!c.device.is_cpu()) return "needs the CPU, the tensors are on " + c.device.str();
  if (!at::isFloatingType(c.dtype)) return fmt::format("needs floats, got {}", toString(c.dtype));
  if (c.dropout) return "does not drop attention weights";
  if (c.needs_grad) return "has no backward pass yet";
  return "";
}

Tensor attend_tiled(const AttentionInputs& in) {
  const int64_t batch = in.q.size(0), heads = in.q.size(1), queries = in.q.size(2);
  const Tensor hidden = in.kv_mask.defined() ? in.kv_mask.logical_not() : in.kv_mask;
  Tensor out = at::empty({batch, heads, queries, in.v.size(3)}, in.q.options());

  // Every thread gets a tile, as long as tiles stay worth a BLAS call.
  const int64_t share =
      (batch * heads * queries + at::get_num_threads() - 1) / at::get_num_threads();
  const int64_t tile = std::clamp(share, kSmallestQueryTile, kQueryTile);
  const int64_t tiles = (queries + tile - 1) / tile;
  at::parallel_for(0, batch * heads * tiles, 1, [&](int64_t begin, int64_t end) {
    at::NoGradGuard no_grad;  // the mode is a thread's own
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / (heads * tiles), h = i / tiles % heads, first = i % tiles * tile;
      const int64_t count = std::min(tile, queries - first);
      attend_rows(in.q[b][h].narrow(0, first, count), in.k[b][h], in.v[b][h],
                  hidden.defined() ? hidden[b] : hidden, out[b][h].narrow(0, first, count));
    }
  });
  return out;
}

}  // namespace perceiver
