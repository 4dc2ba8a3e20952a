// The warp of attention_hopper that fetches: it waits for empty stages and asks the copy engine to
// fill them.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_ring.h"
#include "perceiver/kernels/attention/wide_heads_sm90_work.h"
#include "perceiver/kernels/cuda/quad.h"

namespace perceiver::hopper {

// All columns of kRows rows, from `row` on.
template <class Tile, int kRows>
__device__ __forceinline__ void copy_tile(const ColumnMaps& maps, uint32_t to, int row, int batch,
                                          uint32_t barrier) {
#pragma unroll
  for (int i = 0; i < Tile::kWide; ++i) {
    copy_box(to + i * kRows * kWideRow, {&maps.wide, 64 * i, row, batch}, barrier);
  }
#pragma unroll
  for (int i = 0; i < kNarrowColumns; ++i) {
    copy_box(to + kRows * (Tile::kWide * kWideRow + i * kNarrowRow),
             {&maps.narrow, 64 * Tile::kWide + 16 * i, row, batch}, barrier);
  }
}

// The same of this block's half of a tile of keys or values, to both blocks of a pair.
template <class Tile>
__device__ __forceinline__ void copy_half(const ColumnMaps& maps, uint32_t to, int row, int batch,
                                          uint32_t barrier, int rank) {
  constexpr uint16_t kBoth = 3;
  const int first = rank * Tile::kFetchedKeys;
#pragma unroll
  for (int i = 0; i < Tile::kWide; ++i) {
    copy_box_to(kBoth, to + i * Tile::kKeyWide + first * kWideRow,
                {&maps.wide, 64 * i, row + first, batch}, barrier);
  }
#pragma unroll
  for (int i = 0; i < kNarrowColumns; ++i) {
    copy_box_to(kBoth,
                to + Tile::kWide * Tile::kKeyWide + i * Tile::kKeyNarrow + first * kNarrowRow,
                {&maps.narrow, 64 * Tile::kWide + 16 * i, row + first, batch}, barrier);
  }
}

template <class Tile>
struct Fetcher {
  const KernelArguments& args;
  const SharedLayout<Tile>& shared;
  RingPlace<Tile> place;
  int lane;
  int rank;  // in a pair

  __device__ __forceinline__ void wait() {
    barrier_wait(shared.empty(place.stage), place.phase ^ 1);
  }

  __device__ __forceinline__ void copy(const ColumnMaps& maps, const AttentionWork& work,
                                       int tile) {
    if (lane == 0) {
      const uint32_t barrier = shared.full(place.stage), to = shared.tile(place.stage);
      const int row = (work.first_tile + tile) * Tile::kKeys;
      barrier_arrive_and_expect(barrier, Tile::kTileBytes);
      if constexpr (Tile::kPaired) {
        copy_half<Tile>(maps, to, row, work.batch, barrier, rank);
      } else {
        copy_tile<Tile, Tile::kKeys>(maps, to, row, work.batch, barrier);
      }
    }
    __syncwarp();
    place.next();
  }

  __device__ __forceinline__ void keys(const AttentionWork& work, int tile) {
    const int first = (work.first_tile + tile) * Tile::kKeys + lane;
    const uint8_t* mask = args.kv_mask + work.batch * args.mask_batch;
    // The mask is asked for before the wait, and there after it.
    uint32_t present[Tile::kMaskWords];
#pragma unroll
    for (int i = 0; i < Tile::kMaskWords; ++i) {
      const int key = first + 32 * i;
      present[i] = key < args.keys;
      if (args.kv_mask != nullptr && key < args.keys) present[i] = mask[key];
    }
    wait();
#pragma unroll
    for (int i = 0; i < Tile::kMaskWords; ++i) {
      const uint32_t bits = __ballot_sync(kAllLanes, present[i] != 0);
      if (lane == 0) shared.mask_of(place.stage)[i] = bits;
    }
    copy(args.maps.k, work, tile);
  }

  __device__ __forceinline__ void values(const AttentionWork& work, int tile) {
    wait();
    copy(args.maps.v, work, tile);
  }

  __device__ __forceinline__ void queries(const AttentionWork& work, uint32_t phase) {
    if (lane == 0) {
      barrier_wait(shared.queries_empty(), phase ^ 1);
      barrier_arrive_and_expect(shared.queries_full(), Tile::kQueryBytes);
      copy_tile<Tile, kQueriesOfTile>(args.maps.q, shared.queries(), work.first_query, work.batch,
                                      shared.queries_full());
    }
    __syncwarp();
  }
};

}  // namespace perceiver::hopper
