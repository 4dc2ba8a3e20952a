// What our kernels of attention for GPUs take, told from sizes and from what the GPU is: plans ask
// on any machine, the kernels on theirs. Plain C++, for .cu files too; refusals are null where
// there are none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "perceiver/kernels/gpu.h"

namespace perceiver {

struct HeadSizes {
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, qk_channels = 0, v_channels = 0;
};

namespace resident {  // few_keys.h

inline constexpr int kWarps = 8;
inline constexpr int kGap = 8;  // elements behind a row, against conflicts of banks
inline constexpr int kKeysOfPass = 16 * kWarps;  // of the backward pass: each warp has sixteen
inline constexpr int kQueriesAtOnce = 32;

// Of a head: keys and values.
inline constexpr std::array<std::pair<int, int>, 6> kChannels = {
    {{16, 16}, {16, 32}, {32, 32}, {32, 96}, {32, 160}, {64, 64}}};

constexpr bool has_channels(int64_t qk_channels, int64_t v_channels) {
  for (const auto& [f, v] : kChannels) {
    if (qk_channels == f && v_channels == v) return true;
  }
  return false;
}

constexpr int64_t whole(int64_t x, int64_t step) { return (x + step - 1) / step * step; }

// Shared memory of a block: keys, values, and what is added to the scores of each key.
constexpr int64_t forward_bytes(int64_t qk_channels, int64_t v_channels, int64_t keys) {
  return whole(keys, 64) * (2 * (qk_channels + v_channels + 2 * kGap) + 4);
}

// GradientMemory (few_keys_gradient_sm80.h)
constexpr int64_t gradient_bytes(const HeadSizes& a) {
  const int64_t n = whole(a.queries, kQueriesAtOnce), m = whole(a.keys, kKeysOfPass);
  const int64_t key_row = a.qk_channels + kGap, value_row = a.v_channels + kGap;
  const int64_t turned = 2 * kKeysOfPass * (kQueriesAtOnce + kGap);
  const int64_t halves = (n + m) * key_row + (n + kKeysOfPass) * value_row + turned;
  return 2 * halves + 4 * (2 * n + (m > kKeysOfPass ? n * a.qk_channels : 0));
}

// Keys that do not all fit are taken in shares. A pass over one costs a launch and, backward, a
// share's gradient of the queries: worth it up to here.
inline constexpr int64_t kShareKeys = 256, kMostShares = 16;

// The shares of a single example are as many examples of a batch: one launch for all.
constexpr bool shares_are_a_batch(int64_t batch, int64_t keys) {
  return batch == 1 && keys % kShareKeys == 0;
}

// Without gradients that is worth it where LibTorch's kernels, which do not share keys out, would
// leave most multiprocessors without work.
constexpr bool shares_pay(const HeadSizes& a, bool with_gradients) {
  if (a.keys <= kShareKeys || a.keys > kMostShares * kShareKeys) return false;
  constexpr int64_t kQueriesOfBlock = 128, kBlocks = 64;
  const int64_t blocks = a.heads * ((a.queries + kQueriesOfBlock - 1) / kQueriesOfBlock);
  return with_gradients || (shares_are_a_batch(a.batch, a.keys) && blocks <= kBlocks);
}

}  // namespace resident

inline const char* few_keys_refusal(const Gpu& gpu, const HeadSizes& a, bool with_gradients) {
  using namespace resident;
  if (gpu.compute_capability < 80) return "needs a GPU of sm_80 or later";
  if (a.queries < 1 || a.keys < 1) return "needs queries and keys";
  if (a.batch > 65535 || a.heads > 65535) return "takes at most 65,535 examples and heads";
  if (!has_channels(a.qk_channels, a.v_channels)) {
    return "has no kernel for these channels of a head";
  }
  const int64_t bytes =
      with_gradients ? gradient_bytes(a) : forward_bytes(a.qk_channels, a.v_channels, a.keys);
  return bytes > gpu.shared_memory ? "needs a head's rows to fit shared memory" : nullptr;
}

namespace narrow {  // narrow_heads_sm90.h

inline constexpr int kBlockQueries = 256;
inline constexpr int kLeastKeys = 512;

constexpr int64_t works_of(const HeadSizes& a) {
  return (a.queries + kBlockQueries - 1) / kBlockQueries * a.heads * a.batch;
}

}  // namespace narrow

// Heads have as many channels of keys as of values.
inline const char* narrow_heads_refusal(const Gpu& gpu, const HeadSizes& a) {
  if (gpu.compute_capability != 90) return "needs a GPU of sm_90";
  if (a.qk_channels != 32 && a.qk_channels != 64) return "is for heads of 32 or 64 channels";
  return a.keys < narrow::kLeastKeys ? "needs at least 512 keys" : nullptr;
}

// Whether there are enough queries and heads to be faster than LibTorch's kernels, which share out
// keys as well.
inline bool narrow_heads_pay(const Gpu& gpu, const HeadSizes& a) {
  return 4 * narrow::works_of(a) >= int64_t{3} * gpu.multiprocessors;
}

// wide_heads_sm90.h
inline constexpr int64_t kMostHopperChannels = 328;  // of keys, and of values, that a head may have

// `batch` counts every head.
inline const char* wide_heads_refusal(const Gpu& gpu, const HeadSizes& a) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (gpu.compute_capability != 90) return "needs a GPU of compute capability 9.0";
  if (std::min(a.qk_channels, a.v_channels) < 1 ||
      std::max(a.qk_channels, a.v_channels) > kMostHopperChannels) {
    return "takes heads of at most 328 channels";
  }
  if (a.batch < 1 || a.queries < 1 || a.keys < 1) return "needs a query and a key";
  if (a.queries > kMost || a.keys > kMost || a.batch > 65535) return "has 32-bit indices";
  return nullptr;
}

}  // namespace perceiver
