// Rows of a training pass in the registers of their threads. For .cu files only.
#pragma once

#include <algorithm>

#include "perceiver/kernels/cuda/pack.h"

namespace perceiver {

inline constexpr int kMaxRowThreads = 512;  // kMaxTrainingChannels in packs of 8
using Narrow = __nv_bfloat16;

// How a row lies in registers: thread x of blockDim.x has the packs x, x + blockDim.x, ... Where a
// row is what kWarps hold, no thread asks whether a pack is there: half of the instructions.
template <int V_, int kItems_, int kWarps_ = 0>
struct Held {
  static constexpr int V = V_, kItems = kItems_, kWarps = kWarps_;  // 0: any number
  float at[kItems][V];

  static __device__ int threads() {
    return kWarps > 0 ? 32 * kWarps : static_cast<int>(blockDim.x);
  }
  static __device__ int channel(int i) {
    return (i * threads() + static_cast<int>(threadIdx.x)) * V;
  }
  // Of a row of `channels`, or of none.
  static __device__ bool is_there(int i, int channels) {
    return kWarps > 0 ? channels != 0 : channel(i) < channels;
  }

  // Zeros behind the row's end.
  template <typename T>
  __device__ void load(const T* row, int channels) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
#pragma unroll
      for (int j = 0; j < V; ++j) at[i][j] = 0;
      if (is_there(i, channels)) load_pack(row + channel(i), at[i]);
    }
  }

  template <typename T>
  __device__ void store(T* row, int channels) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (is_there(i, channels)) store_pack(row + channel(i), at[i]);
    }
  }

  // f(value, i, j) for each element there is; of a row that is not there, perhaps for its zeros
  template <typename F>
  __device__ void each(int channels, F f) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (kWarps == 0 && channel(i) >= channels) continue;
#pragma unroll
      for (int j = 0; j < V; ++j) f(at[i][j], i, j);
    }
  }
};

template <int V>
__device__ void zero_padding(Narrow* row, int64_t channels, int64_t padded) {
  const float zeros[V] = {};
  for (int64_t c = channels + int64_t{threadIdx.x} * V; c < padded; c += int64_t{blockDim.x} * V) {
    store_pack(row + c, zeros);
  }
}

// Sums over a row's threads; all rows of a block call together. `slots` are used every other time,
// so one barrier is enough.
template <typename H>
__device__ float2 row_sums(float2 x, float2* slots) {
  float2 sum = {warp_sum(x.x), warp_sum(x.y)};
  const int warps = H::threads() / 32;
  if (warps == 1) return sum;
  float2* mine = slots + threadIdx.y * warps;
  if (threadIdx.x % 32 == 0) mine[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = {0, 0};
#pragma unroll
  for (int warp = 0; warp < warps; ++warp) {
    sum.x += mine[warp].x;
    sum.y += mine[warp].y;
  }
  return sum;
}

struct RowThreads {
  unsigned row;   // threads that share a row
  unsigned rows;  // rows of a block at a time
};
inline RowThreads row_threads(int64_t channels, int V, int items, unsigned threads) {
  const int64_t packs = (channels + int64_t{V} * items - 1) / (V * items);
  const auto row = static_cast<unsigned>((packs + 31) / 32 * 32);
  return {row, std::max(1u, threads / row)};
}

// Calls f with the packs that all strides and pointers allow: of the 16 bytes that a thread moves
// at a time, so that those of a warp lie side by side.
template <typename T, typename F>
void with_layout(int64_t channels, int64_t strides, uintptr_t pointers, F f) {
  constexpr int kPack = 16 / sizeof(T), kItems = 8 / kPack;
  strides |= channels;
  if (strides % 8 == 0 && pointers % 16 == 0) {
    if (channels == 2 * 256) return f(Held<kPack, kItems, 2>{});
    if (channels == 3 * 256) return f(Held<kPack, kItems, 3>{});
    if (channels == 4 * 256) return f(Held<kPack, kItems, 4>{});
    if (channels == 5 * 256) return f(Held<kPack, kItems, 5>{});
    return f(Held<kPack, kItems>{});
  }
  if (strides % 2 == 0 && pointers % 8 == 0) return f(Held<2, 4>{});
  f(Held<1, 8>{});
}

inline uintptr_t bits(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

template <typename F>
void with_wide_dtype(CudaDtype dtype, F f) {
  if (dtype == CudaDtype::kFloat32) return f(static_cast<float*>(nullptr));
  f(static_cast<Narrow*>(nullptr));
}

}  // namespace perceiver
