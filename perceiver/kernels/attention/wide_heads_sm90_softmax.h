// The softmax of attention_hopper, a tile of keys at a time: scores [64, kKeys] of a warpgroup, of
// which a thread has two rows, become weights for P V.
#pragma once

#include <cmath>
#include <cstdint>

#include "perceiver/kernels/cuda/quad.h"

namespace perceiver::hopper {

// Scores of keys that are not there become -infinity.
template <class Tile>
__device__ __forceinline__ void hide(float (&scores)[Tile::kKeys / 2], const uint32_t* mask) {
  uint32_t words[Tile::kMaskWords], all = ~0u;
#pragma unroll
  for (int i = 0; i < Tile::kMaskWords; ++i) {
    words[i] = mask[i];
    all &= words[i];
  }
  if (all == ~0u) return;
#pragma unroll
  for (int i = 0; i < Tile::kMaskWords; ++i) words[i] >>= 2 * (threadIdx.x % 4);
#pragma unroll
  for (int i = 0; i < Tile::kKeys / 2; ++i) {
    const int key = i / 4 * 8 + i % 2;  // of the quad's first thread
    if ((words[key / 32] >> (key % 32) & 1) == 0) scores[i] = -INFINITY;
  }
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Of the scores in natural units; -infinity for a query without keys.
__device__ __forceinline__ float log_sum_exp(float top, float total, float scale_log2) {
  constexpr float kLog2 = 0.6931471805599453f;
  return total > 0.0f ? (top * scale_log2 + log2f(total)) * kLog2 : -INFINITY;
}

// The running softmax of a thread's two rows. `total` is of the thread's own columns.
struct RunningSoftmax {
  float top[2] = {-INFINITY, -INFINITY};
  float total[2] = {0.0f, 0.0f};
  float rescale[2];  // what sums of earlier tiles are to be multiplied with

  // Scores become weights 2^(scale (score - top)).
  template <int kCount>
  __device__ __forceinline__ void step(float (&scores)[kCount], float scale_log2) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float raised = top[row];
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
        raised = fmaxf(raised, fmaxf(scores[i + 2 * row], scores[i + 2 * row + 1]));
      }
      raised = quad_max(raised);
      // No key seen yet: any finite base gives weights of zero.
      const float base = raised == -INFINITY ? 0.0f : raised * scale_log2;
      rescale[row] = exp2_fast(top[row] * scale_log2 - base);
      top[row] = raised;
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
#pragma unroll
        for (int j = i + 2 * row; j < i + 2 * row + 2; ++j) {
          scores[j] = exp2_fast(fmaf(scores[j], scale_log2, -base));
          sum += scores[j];
        }
      }
      total[row] = total[row] * rescale[row] + sum;
    }
  }

  // After the first tile, which has no sums before it.
  __device__ __forceinline__ void keep_sums() { rescale[0] = rescale[1] = 1.0f; }
};

// Weights as the left side of a product: what a thread holds of the sums is what it must give.
template <class Tile>
__device__ __forceinline__ void pack_weights(uint32_t (&weights)[Tile::kKeys / 16][4],
                                             const float (&scores)[Tile::kKeys / 2]) {
#pragma unroll
  for (int i = 0; i < Tile::kKeys / 4; ++i) {
    weights[i / 4][i % 4] = pack(typename Tile::Element{}, scores[2 * i], scores[2 * i + 1]);
  }
}

}  // namespace perceiver::hopper
