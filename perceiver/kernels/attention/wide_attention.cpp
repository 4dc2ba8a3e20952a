#include "perceiver/kernels/attention/wide_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "perceiver/kernels/attention/attention_kernels.h"
#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/attention/query_blocks.h"
#include "perceiver/kernels/attention/wide_heads_sm90_torch.h"

namespace perceiver {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();  // the score of no key

int64_t block_of(int64_t batch, int64_t keys) {
  return queries_of_block(kScoresOfWide, batch * padded_channels(keys));
}

// A block of queries at a time by plain products. Keys become whole eights, as channels are: rows
// of scores that do not start on 16 bytes take five times as long.
Tensor attend_in_blocks(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                        double scale) {
  const int64_t queries = q.size(1), keys = k.size(1), more = padded_channels(keys) - keys;
  const auto filled = [&](const Tensor& x) {
    return at::cat({x, x.new_zeros({x.size(0), more, x.size(2)})}, 1);
  };
  const Tensor all_keys = more > 0 ? filled(k) : k;
  const Tensor all_values = more == 0 ? v : v.is_same(k) ? all_keys : filled(v);
  Tensor out = at::empty({q.size(0), queries, v.size(2)}, q.options());
  for_each_block(queries, block_of(q.size(0), keys), [&](int64_t begin, int64_t count) {
    Tensor scores = at::bmm(q.narrow(1, begin, count), all_keys.transpose(1, 2)).mul_(scale);
    if (kv_mask.defined()) {
      scores.narrow(2, 0, keys).masked_fill_(kv_mask.unsqueeze(1).logical_not(), kNone);
    }
    if (more > 0) scores.narrow(2, keys, more).fill_(kNone);
    out.narrow(1, begin, count).copy_(at::bmm(scores.softmax(-1), all_values));
  });
  if (!kv_mask.defined()) return out;
  return at::where(kv_mask.any(1).view({-1, 1, 1}), out, out.new_zeros({}));
}

// As few equal parts of the values' channels as the kernel takes.
int64_t channels_at_once(int64_t channels) {
  const int64_t parts = (channels + kMostHopperChannels - 1) / kMostHopperChannels;
  return padded_channels((channels + parts - 1) / parts);
}

}  // namespace

std::string wide_refusal(const AttentionCase& c) {
  AttentionCase at_once = c;
  at_once.v_channels = std::min(channels_at_once(c.v_channels), c.v_channels);
  return wide_heads_refusal(at_once);
}

int64_t wide_block_scores(const AttentionCase& c) {
  return c.batch * std::min(c.queries, block_of(c.batch, c.keys)) * padded_channels(c.keys);
}

Tensor attend_wide(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                   const WideAttention& how) {
  const int64_t channels = v.size(2), some = channels_at_once(channels);
  if (how.kernel == kWideBlocks) return attend_in_blocks(q, k, v, kv_mask, how.scale);
  const Tensor out = at::empty({q.size(0), q.size(1), padded_channels(channels)}, q.options());
  for (int64_t begin = 0; begin < channels; begin += some) {
    const int64_t count = std::min(some, channels - begin);
    cuda_attend_hopper_into(out.narrow(2, begin, padded_channels(count)), q, k,
                            v.narrow(2, begin, count), kv_mask, how.scale, /*log_sum=*/nullptr);
  }
  return out;
}

}  // namespace perceiver
