// A block's shared memory in attention_hopper: the queries, a ring of tiles of keys and values, and
// the barriers between the warp that fills them and those that use them; and the turns of these.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_tile.h"
#include "perceiver/kernels/cuda/tma.h"

namespace perceiver::hopper {

// Addresses. A stage of the ring is `full` when its tile is there and `empty` when no warp needs
// it.
template <class Tile>
struct SharedLayout {
  uint32_t base;
  uint32_t* mask;

  __device__ explicit SharedLayout(uint8_t* memory)
      : base(shared_address(memory)), mask(reinterpret_cast<uint32_t*>(memory + Tile::kMaskAt)) {}
  __device__ uint32_t queries() const { return base; }
  __device__ uint32_t tile(uint32_t stage) const {
    return base + Tile::kTilesAt + stage * Tile::kTileBytes;
  }
  __device__ uint32_t full(uint32_t stage) const { return base + Tile::kBarriersAt + 8 * stage; }
  __device__ uint32_t empty(uint32_t stage) const { return full(Tile::kStages + stage); }
  __device__ uint32_t queries_full() const { return full(2 * Tile::kStages); }
  __device__ uint32_t queries_empty() const { return full(2 * Tile::kStages + 1); }
  __device__ uint32_t* mask_of(uint32_t stage) const { return mask + stage * Tile::kMaskWords; }
};

template <class Tile>
__device__ __forceinline__ void init_barriers(const SharedLayout<Tile>& shared) {
  constexpr uint32_t kWarps = 4 * kWarpgroups;
  for (int i = 0; i < Tile::kStages; ++i) {
    barrier_init(shared.full(i), 1);
    barrier_init(shared.empty(i), Tile::kPaired ? 2 * kWarps : kWarps);
  }
  barrier_init(shared.queries_full(), 1);
  barrier_init(shared.queries_empty(), kWarps);
  barrier_init_fence();
}

// Where one stands in the ring; the phase turns over with each round.
template <class Tile>
struct RingPlace {
  uint32_t stage = 0, phase = 0;

  __device__ __forceinline__ void next() {
    if (++stage == Tile::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// The two warpgroups give their products to the tensor cores one after the other, so that the
// softmax of one falls into the products of the other.
__device__ __forceinline__ void wait_for_turn(int group) {
  asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
}

__device__ __forceinline__ void pass_turn(int group) {
  asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
}

}  // namespace perceiver::hopper
