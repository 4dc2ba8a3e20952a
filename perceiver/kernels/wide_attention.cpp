#include "perceiver/kernels/wide_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "perceiver/kernels/cuda/glue.h"

namespace perceiver {
namespace {

// Scores that exist at one time where no kernel streams.
constexpr int64_t kMostScores = int64_t{1} << 29;

constexpr double kNone = -std::numeric_limits<double>::infinity();  // the score of no key

// A block of queries at a time by plain products. Keys become whole eights, as channels are: rows
// of scores that do not start on 16 bytes take five times as long.
Tensor attend_in_blocks(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                        double scale) {
  const int64_t queries = q.size(1), keys = k.size(1), more = padded_channels(keys) - keys;
  const int64_t block =
      std::max<int64_t>(1, kMostScores / std::max<int64_t>(1, q.size(0) * (keys + more)));
  const auto filled = [&](const Tensor& x) {
    return at::cat({x, x.new_zeros({x.size(0), more, x.size(2)})}, 1);
  };
  const Tensor all_keys = more > 0 ? filled(k) : k;
  const Tensor all_values = more == 0 ? v : v.is_same(k) ? all_keys : filled(v);
  Tensor out = at::empty({q.size(0), queries, v.size(2)}, q.options());
  for (int64_t begin = 0; begin < queries; begin += block) {
    const int64_t count = std::min(block, queries - begin);
    Tensor scores = at::bmm(q.narrow(1, begin, count), all_keys.transpose(1, 2)).mul_(scale);
    if (kv_mask.defined()) {
      scores.narrow(2, 0, keys).masked_fill_(kv_mask.unsqueeze(1).logical_not(), kNone);
    }
    if (more > 0) scores.narrow(2, keys, more).fill_(kNone);
    out.narrow(1, begin, count).copy_(at::bmm(scores.softmax(-1), all_values));
  }
  if (!kv_mask.defined()) return out;
  return at::where(kv_mask.any(1).view({-1, 1, 1}), out, out.new_zeros({}));
}

// As few equal parts of the values' channels as the kernel takes.
int64_t channels_at_once(int64_t channels) {
  const int64_t parts = (channels + kMostHopperChannels - 1) / kMostHopperChannels;
  return padded_channels((channels + parts - 1) / parts);
}

}  // namespace

Tensor attend_wide(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                   double scale) {
  const int64_t channels = v.size(2), some = channels_at_once(channels);
  if (!cuda_hopper_refusal(q, k, v.narrow(2, 0, std::min(some, channels))).empty()) {
    return attend_in_blocks(q, k, v, kv_mask, scale);
  }
  const Tensor out = at::empty({q.size(0), q.size(1), padded_channels(channels)}, q.options());
  for (int64_t begin = 0; begin < channels; begin += some) {
    const int64_t count = std::min(some, channels - begin);
    cuda_attend_hopper_into(out.narrow(2, begin, padded_channels(count)), q, k,
                            v.narrow(2, begin, count), kv_mask, scale, /*log_sum=*/nullptr);
  }
  return out;
}

}  // namespace perceiver
