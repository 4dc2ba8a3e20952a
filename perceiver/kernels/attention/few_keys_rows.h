// What the kernels of few_keys.h do with rows of a head. For .cu files only.
#pragma once

#include "perceiver/kernels/attention/few_keys.h"
#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/cuda/warp_product.h"

namespace perceiver::resident {

inline constexpr int kThreads = 32 * kWarps;

__host__ __device__ inline int rounded_up(int x, int step) { return (x + step - 1) / step * step; }

struct HeadPlace {
  int example, head;
};

template <typename T>
__device__ const T* rows_of(const HeadRows& x, const HeadPlace& of) {
  return static_cast<const T*>(x.data) + of.example * x.batch + of.head * x.head;
}
template <typename T>
__device__ T* rows_of(const NewHeadRows& x, const HeadPlace& of) {
  return static_cast<T*>(x.data) + of.example * x.batch + of.head * x.head;
}
// The figures of a head's queries, in [B, H, N].
template <typename Float>
__device__ Float* figures_of(Float* x, const ResidentAttention& a, const HeadPlace& of) {
  return x + (int64_t{of.example} * a.heads + of.head) * a.queries;
}
// Of an example's keys; null: all are there.
__device__ inline const uint8_t* mask_of(const ResidentAttention& a, const HeadPlace& of) {
  return a.kv_mask ? a.kv_mask + int64_t{of.example} * a.keys : nullptr;
}

// rows [count, C], `stride` apart, to shared memory, with rows of zeros behind them up to `padded`.
template <int C, typename T>
__device__ void copy_rows(T* to, const T* from, int64_t stride, int count, int padded) {
  constexpr int kPacks = C / 8;
  for (int i = threadIdx.x; i < padded * kPacks; i += kThreads) {
    const int row = i / kPacks, channel = i % kPacks * 8;
    const bool there = row < count;
    copy_ahead(shared_address(to + row * (C + kGap) + channel),
               from + (there ? row * stride + channel : 0), there);
  }
}

// sums [16, 8 * kTiles] += a [16, C] and the rows [8 * kTiles, C] from `rows` on, turned.
template <int C, int kTiles, typename T>
__device__ __forceinline__ void multiply_rows(float (&sums)[kTiles][4],
                                              const uint32_t (&a)[C / 16][4], const T* rows) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int c = 0; c < C / 16; ++c) {
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      uint32_t b[4];
      load_matrices(b, rows + n * 8 * (C + kGap) + c * 16 + matrices_across(lane, C + kGap));
      multiply_add<T>(sums[n], a[c], b[0], b[1]);
      multiply_add<T>(sums[n + 1], a[c], b[2], b[3]);
    }
  }
}

// sums [16, 8 * kTiles], times a factor for each half of their rows, to rows in global memory. Four
// tiles at a time, the four lanes of a row exchange columns, so that each has sixteen bytes of one
// tile.
template <int kTiles, typename T>
__device__ void store_rows(T* to, int64_t stride, int first, int count,
                           const float (&sums)[kTiles][4], float by_low, float by_high) {
  const int lane = threadIdx.x % 32, part = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + lane / 4 + half * 8;
    const float by = half == 0 ? by_low : by_high;
    T* const at = to + row * stride;
#pragma unroll
    for (int n = 0; n < kTiles; n += 4) {
      if (n + 4 > kTiles) {
        for (int i = n; i < kTiles; ++i) {
          if (row >= count) break;
          *reinterpret_cast<uint32_t*>(at + i * 8 + part * 2) =
              pack_pair<T>(sums[i][2 * half] * by, sums[i][2 * half + 1] * by);
        }
        break;
      }
      uint32_t mine[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        mine[i] = pack_pair<T>(sums[n + i][2 * half] * by, sums[n + i][2 * half + 1] * by);
      }
      // Turned around the diagonal in two exchanges, with the next lane and the one after it.
      const bool odd = part % 2 != 0, upper = part / 2 != 0;
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? mine[i] : mine[i + 1], 1);
        mine[i] = odd ? got : mine[i];
        mine[i + 1] = odd ? mine[i + 1] : got;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint32_t got = __shfl_xor_sync(0xffffffffu, upper ? mine[i] : mine[i + 2], 2);
        mine[i] = upper ? got : mine[i];
        mine[i + 2] = upper ? mine[i + 2] : got;
      }
      if (row < count) {
        *reinterpret_cast<uint4*>(at + (n + part) * 8) =
            make_uint4(mine[0], mine[1], mine[2], mine[3]);
      }
    }
  }
}

__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace perceiver::resident
