// Attention of a single head with many channels, for inference on a GPU: by a kernel of our own
// where it is built and the GPU can run it, by LibTorch's operations otherwise. Nothing here waits
// for the GPU, so that all of it can be recorded as a graph.
#pragma once

#include <string>
#include <string_view>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

// Channels that a GPU multiplies well: the next multiple of 8, rows of whole 16 bytes.
constexpr int64_t padded_channels(int64_t channels) { return (channels + 7) / 8 * 8; }

// What it is computed by: the kernel, which streams, or blocks of queries, which hold their scores.
inline constexpr std::string_view kWide = "wide", kWideBlocks = "wide_blocks";

struct WideAttention {
  std::string_view kernel;  // kWide where it does not refuse
  double scale = 1.0;       // of the scores
};

// softmax(scale q k^T) v of a single head: q [B, N, P], k [B, M, P], v [B, M, P'], kv_mask [B, M]
// -> [B, N, P']. A query with no key to attend to gets zeros. k and v may be one array. Of more
// values than the kernel takes at a time it computes some after others, and the scores anew.
Tensor attend_wide(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                   const WideAttention& how);

// Why it cannot be the kernel; empty where it can.
std::string wide_refusal(const AttentionCase& c);

// How many scores of the case a block of queries has.
int64_t wide_block_scores(const AttentionCase& c);

}  // namespace perceiver
