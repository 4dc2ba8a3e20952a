// Attention over shares of the keys, put together.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// bfloat16; channels in eights, everything without gaps and on 16 bytes.
struct MergedShares {
  int shares = 0, heads = 0, queries = 0, channels = 0;
  int64_t batch = 0;
  const void* parts = nullptr;      // [S, B, N, H, V]
  const float* log_sums = nullptr;  // [S, B, H, N]; -inf: no key in the share
  void* out = nullptr;              // [B, N, H, V]; zeros for a query without any key
  float* log_sum = nullptr;         // [B, H, N]
};
cudaError_t merge_shares(const MergedShares& shares, cudaStream_t stream);

}  // namespace perceiver
