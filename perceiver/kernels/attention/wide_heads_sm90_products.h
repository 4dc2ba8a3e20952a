// The two products of attention_hopper, Q K^T and P V (paper, Eq. 2-3), for one warpgroup's 64
// queries and one tile. They are started here and waited for elsewhere. Addresses of operands are
// in units of 16 bytes.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_ring.h"
#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/quad.h"
#include "perceiver/kernels/cuda/wgmma.h"

namespace perceiver::hopper {

// Starts scores [64, kKeys] = Q K^T.
template <class Tile>
__device__ __forceinline__ void start_scores(float (&scores)[Tile::kKeys / 2],
                                             const SharedLayout<Tile>& shared, int group,
                                             uint32_t stage) {
  using T = typename Tile::Element;
  // Else the compiler computes all addresses of Q once, and keeps them in registers it has not got.
  group = __shfl_sync(kAllLanes, group, 0);
  const uint32_t q = start16_of(shared.queries() + group * 64 * kWideRow);
  const uint32_t k = start16_of(shared.tile(stage));
#pragma unroll
  for (int i = 0; i < 4 * Tile::kWide; ++i) {
    const uint32_t inside = i % 4 * 32;
    product<T, Tile::kKeys>(
        scores, inner_descriptor<Swizzle::k128>(q, i / 4 * Tile::kQueryWide + inside),
        inner_descriptor<Swizzle::k128>(k, i / 4 * Tile::kKeyWide + inside), i > 0);
  }
  const uint32_t q_narrow =
      start16_of(shared.queries() + Tile::kWide * Tile::kQueryWide + group * 64 * kNarrowRow);
#pragma unroll
  for (int i = 0; i < kNarrowColumns; ++i) {
    product<T, Tile::kKeys>(
        scores, inner_descriptor<Swizzle::k32>(q_narrow, i * Tile::kQueryNarrow),
        inner_descriptor<Swizzle::k32>(k, Tile::kWide * Tile::kKeyWide + i * Tile::kKeyNarrow), 1);
  }
  product_commit();
}

// Sums [64, kValues] of weights times values, a thread's part.
template <class Tile>
struct ValueSums {
  float wide[Tile::kWide * 32];
  float narrow[kNarrowValues / 2];

  __device__ __forceinline__ void hold() {
    hopper::hold(wide);
    hopper::hold(narrow);
  }

  // A factor for each of the thread's two rows. Most tiles raise no row's largest score: their
  // warps skip the multiplications.
  __device__ __forceinline__ void rescale(const float (&factor)[2]) {
    if (!__any_sync(kAllLanes, factor[0] != 1.0f || factor[1] != 1.0f)) return;
#pragma unroll
    for (int i = 0; i < Tile::kWide * 32; ++i) wide[i] *= factor[i / 2 % 2];
#pragma unroll
    for (int i = 0; i < kNarrowValues / 2; ++i) narrow[i] *= factor[i / 2 % 2];
  }
};

// Starts sums (+)= weights V.
template <class Tile>
__device__ __forceinline__ void start_values(ValueSums<Tile>& sums,
                                             const uint32_t (&weights)[Tile::kKeys / 16][4],
                                             const SharedLayout<Tile>& shared, uint32_t stage,
                                             int add) {
  using T = typename Tile::Element;
  const uint32_t v = start16_of(shared.tile(stage));
#pragma unroll
  for (int i = 0; i < Tile::kKeys / 16; ++i) {
    const int adding = i > 0 ? 1 : add;
    product<T, 64 * Tile::kWide>(
        sums.wide, weights[i],
        outer_descriptor<Swizzle::k128, Tile::kKeyWide>(v, i * 16 * kWideRow), adding);
    product<T, kNarrowValues>(sums.narrow, weights[i],
                              outer_descriptor<Swizzle::k32, Tile::kKeyNarrow>(
                                  v, Tile::kWide * Tile::kKeyWide + i * 16 * kNarrowRow),
                              adding);
  }
  product_commit();
}

}  // namespace perceiver::hopper
