// The two products of attention_narrow. For device code of sm_90a alone.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/narrow_heads_sm90_tile.h"
#include "perceiver/kernels/cuda/wgmma.h"

namespace perceiver::narrow {

// clang-format off
template <typename T, int kN>
__device__ __forceinline__ void multiply_queries(float* sums, uint64_t a, uint64_t b, int add) {
  static_assert(kN == 32 || kN == 64, "add the size to the list");
  if constexpr (kN == 32) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_SHARED, 32, 16, 16, 17, 18);
  if constexpr (kN == 64) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_SHARED, 64, 32, 32, 33, 34);
}

template <typename T, int kN>
__device__ __forceinline__ void multiply_weights(float* sums, const uint32_t (&a)[4], uint64_t b) {
  constexpr int add = 1;
  static_assert(kN == 40 || kN == 72, "add the size to the list");
  if constexpr (kN == 40) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 1, 40, 20, 20, 21, 22, 23, 24, 25);
  if constexpr (kN == 72) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 1, 72, 36, 36, 37, 38, 39, 40, 41);
}
// clang-format on

template <class Tile>
using Scores = float[Tile::kStepKeys / 2];
// Of the values, and behind them those of the weights alone.
template <class Tile>
using Sums = float[Tile::kChannels / 8 + 1][4];

// Scores [64, kStepKeys] of queries and keys, given by rows_low().
template <class Tile>
__device__ __forceinline__ void start_scores(Scores<Tile>& scores, uint32_t queries,
                                             uint32_t keys) {
  hopper::product_fence();
#pragma unroll
  for (int c = 0; c < Tile::kChannels / 16; ++c) {
    multiply_queries<typename Tile::Element, Tile::kStepKeys>(scores, rows_at<Tile>(queries, c),
                                                              rows_at<Tile>(keys, c), c > 0);
  }
  hopper::product_commit();
}

// For sixteen keys.
template <class Tile>
__device__ __forceinline__ void start_values(Sums<Tile>& sums, const uint32_t (&weights)[4],
                                             uint64_t values) {
  hopper::product_fence();
  multiply_weights<typename Tile::Element, Tile::kChannels + 8>(sums[0], weights, values);
  hopper::product_commit();
}

}  // namespace perceiver::narrow
