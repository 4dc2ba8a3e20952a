#include <cmath>

#include "perceiver/kernels/attention/merge_splits.h"
#include "perceiver/kernels/cuda/pack.h"

namespace perceiver {
namespace {

constexpr int kThreads = 256, kTogether = 8;

// A thread takes eight channels of a query's head.
__global__ void __launch_bounds__(kThreads) merge_kernel(MergedShares m) {
  const int64_t packs = m.channels / kTogether, rows = m.batch * m.queries * m.heads;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= rows * packs) return;
  const int64_t head = i / packs % m.heads, query = i / packs / m.heads % m.queries,
                example = i / packs / m.heads / m.queries;
  const int64_t at = (example * m.heads + head) * m.queries + query;
  float top = -INFINITY;
  for (int s = 0; s < m.shares; ++s) top = fmaxf(top, m.log_sums[s * rows + at]);
  float total = 0, sum[kTogether] = {};
  for (int s = 0; s < m.shares && top > -INFINITY; ++s) {
    const float weight = __expf(m.log_sums[s * rows + at] - top);
    float part[kTogether];
    load_pack(static_cast<const __nv_bfloat16*>(m.parts) + (s * rows * packs + i) * kTogether,
              part);
    total += weight;
#pragma unroll
    for (int j = 0; j < kTogether; ++j) sum[j] += weight * part[j];
  }
#pragma unroll
  for (int j = 0; j < kTogether; ++j) sum[j] = total > 0 ? sum[j] / total : 0.0f;
  store_pack(static_cast<__nv_bfloat16*>(m.out) + i * kTogether, sum);
  if (i % packs == 0) m.log_sum[at] = total > 0 ? top + __logf(total) : -INFINITY;
}

}  // namespace

cudaError_t merge_shares(const MergedShares& m, cudaStream_t stream) {
  if (m.shares < 1 || m.channels % kTogether != 0) return cudaErrorInvalidValue;
  const int64_t packs = m.batch * m.queries * m.heads * (m.channels / kTogether);
  if (packs == 0) return cudaSuccess;
  merge_kernel<<<static_cast<unsigned>((packs + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      m);
  return cudaGetLastError();
}

}  // namespace perceiver
