// What becomes of the sums of attention_hopper: outputs, or the partial results of a split.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_products.h"
#include "perceiver/kernels/attention/wide_heads_sm90_softmax.h"
#include "perceiver/kernels/attention/wide_heads_sm90_work.h"

namespace perceiver::hopper {

// Where a thread's two rows go; null where there is no such row.
template <class Out>
struct OutputRows {
  Out* to[2];

  __device__ __forceinline__ OutputRows(Out* array, int64_t stride, int first, int count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first + 8 * i;
      to[i] = row < count ? array + row * stride : nullptr;
    }
  }
};

// Sums of 8 kBlocks channels, from `channel` on, times `factor`, in the output's type: four blocks
// of eight channels at a time, so that a thread has 16 bytes of one row to write.
template <class T, int kBlocks>
__device__ __forceinline__ void store(const float* sums, const float (&factor)[2], int channel,
                                      int channels, const OutputRows<T>& rows) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int block = 0; block < kBlocks; block += 4) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      uint32_t words[4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (block + i >= kBlocks) continue;
        const float* pair = sums + 4 * (block + i) + 2 * row;
        words[i] = pack(T{}, pair[0] * factor[row], pair[1] * factor[row]);
      }
      transpose_quad(words);
      const int inside = 8 * (block + lane);
      if (rows.to[row] == nullptr || inside >= 8 * kBlocks || channel + inside >= channels)
        continue;
      *reinterpret_cast<uint4*>(rows.to[row] + channel + inside) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// The same for sums that other splits add to: as they are.
template <int kBlocks>
__device__ __forceinline__ void store_partial(const float* sums, int channel, int channels,
                                              const OutputRows<float>& rows) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if (rows.to[row] == nullptr || channel + 8 * block >= channels) continue;
      const float* pair = sums + 4 * block + 2 * row;
      *reinterpret_cast<float2*>(rows.to[row] + channel + 8 * block + 2 * (threadIdx.x % 4)) =
          make_float2(pair[0], pair[1]);
    }
  }
}

}  // namespace perceiver::hopper
