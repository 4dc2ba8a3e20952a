// Sixteen queries of attention_narrow once more, by one warp and without shared memory, for scores
// so far apart that a fixed origin does not do. Slow, and right. For .cu files only.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "perceiver/kernels/attention/few_keys_forward_sm80.h"
#include "perceiver/kernels/attention/narrow_heads_sm90.h"

namespace perceiver::narrow {

// A head's keys or values, straight from global memory; those behind the last are zeros.
template <typename T>
struct GlobalRows {
  const T* data;
  int64_t stride;
  int count;

  __device__ uint32_t pair_along(int row, int channel) const {
    return row < count ? *reinterpret_cast<const uint32_t*>(data + row * stride + channel) : 0u;
  }
  __device__ uint32_t pair_down(int row, int channel) const {
    return element(row, channel) | element(row + 1, channel) << 16;
  }
  __device__ uint32_t element(int row, int channel) const {
    return row < count ? reinterpret_cast<const uint16_t*>(data)[row * stride + channel] : 0u;
  }
};

template <typename T, int C>
__device__ __forceinline__ void attend_carefully(const NarrowAttention& a,
                                                 const resident::HeadPlace& of, int first) {
  const int group = threadIdx.x % 32 / 4, part = threadIdx.x % 4;
  const float scale = a.scale * std::numbers::log2e_v<float>;
  const GlobalRows<T> keys{resident::rows_of<T>(a.k, of), a.k.row, a.keys};
  const GlobalRows<T> values{resident::rows_of<T>(a.v, of), a.v.row, a.keys};
  uint32_t q[C / 16][4];
  resident::load_factors<C>(q, resident::rows_of<T>(a.q, of), a.q.row, first, a.queries);
  float sums[C / 8][4] = {};
  resident::RunningRow low, high;
#pragma unroll 1
  for (int key = 0; key < a.keys; key += 16) {
    float scores[2][4] = {};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int c = 0; c < C / 16; ++c) {
        const int row = key + n * 8 + group, channel = c * 16 + part * 2;
        multiply_add<T>(scores[n], q[c], keys.pair_along(row, channel),
                        keys.pair_along(row, channel + 8));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (key + n * 8 + part * 2 + i % 2 >= a.keys) scores[n][i] = -INFINITY;
      }
    }
    resident::follow(sums, resident::weigh(scores, low, high, scale));
    uint32_t weights[4];
    round_to_factors<T>(weights, scores[0], scores[1]);
#pragma unroll
    for (int n = 0; n < C / 8; ++n) {
      const int row = key + part * 2, channel = n * 8 + group;
      multiply_add<T>(sums[n], weights, values.pair_down(row, channel),
                      values.pair_down(row + 8, channel));
    }
  }
  resident::store_rows(resident::rows_of<T>(a.out, of), a.out.row, first, a.queries, sums,
                       1.0f / resident::quad_sum(low.sum), 1.0f / resident::quad_sum(high.sum));
}

}  // namespace perceiver::narrow
