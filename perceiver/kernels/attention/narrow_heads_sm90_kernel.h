// The kernel of attention_narrow. A block takes 256 queries of a head after the other, past a ring
// of tiles of keys and values. For .cu files only.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/narrow_heads_sm90_attend.h"
#include "perceiver/kernels/cuda/dependent_launch.h"

namespace perceiver::narrow {

// The ones behind the values, and those of the last tile's keys that are there. By all threads but
// those of the first two warps.
template <class Tile>
__device__ __forceinline__ void write_ones(uint8_t* memory, int keys_of_last) {
  using T = typename Tile::Element;
  auto* const ones = reinterpret_cast<uint4*>(memory + Tile::kOnesAt);
  constexpr int kPieces = Tile::kRow / 16;
  for (int i = threadIdx.x - 64; i < (16 + kTileKeys) * kPieces; i += kThreads - 64) {
    const int key = i / kPieces - 16;
    const uint32_t two = key < keys_of_last ? hopper::pack(T{}, 1.0f, 1.0f) : 0u;
    ones[i] = make_uint4(two, two, two, two);
  }
  hopper::show_to_copy_engine();
}

template <class Tile>
__device__ __forceinline__ void init_barriers(const NarrowLayout<Tile>& shared) {
  constexpr uint32_t kWarps = kThreads / 32;
  const uint32_t first = shared.full({});
  for (int i = 0; i < Tile::kStages; ++i) {
    hopper::barrier_init(first + 8 * i, 1);
    hopper::barrier_init(first + 8 * (Tile::kStages + i), kWarps);
  }
  for (int i = 0; i < 2 * kWarpgroups; ++i) {
    hopper::barrier_init(first + 8 * (2 * Tile::kStages + i), 1);
  }
  hopper::barrier_init_fence();
}

template <class Tile>
__device__ __forceinline__ void work(const NarrowArguments& args, uint8_t* memory) {
  // The same in all lanes, as the compiler learns from these.
  const uint32_t base = __reduce_max_sync(0xffffffffu, hopper::shared_address(memory));
  const int warp = __reduce_max_sync(0xffffffffu, threadIdx.x / 32);
  const NarrowLayout<Tile> shared{base, reinterpret_cast<int4*>(memory + Tile::kWorksAt)};
  NarrowWarpgroup<Tile> mine{.args = args, .shared = shared, .warp = warp};
  const int4 of = args.place(blockIdx.x);
  if (threadIdx.x == 0) {
    hopper::prefetch_map(&args.maps.k);
    hopper::prefetch_map(&args.maps.v);
    hopper::prefetch_map(&args.maps.q);
    shared.work(0) = of;
  } else if (threadIdx.x == 32) {
    init_barriers(shared);
  } else if (threadIdx.x >= 64) {
    write_ones<Tile>(memory, args.a.keys - (args.tiles - 1) * kTileKeys);
  }
  let_next_kernel_come();
  __syncthreads();
  if (threadIdx.x % 128 == 0) {
    wait_for_kernels_before();
    mine.fetch_queries(of, 0);
  }
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < kTilesAhead<Tile>; ++i) {
      fetch_tile(args, shared, NarrowPlace<Tile>{}.behind(i), 0, i);
    }
  }
  __syncwarp();
  uint32_t round = 0;
#pragma unroll 1
  for (int at = blockIdx.x; at < args.works; at += gridDim.x, ++round) {
    const int next = at + gridDim.x;
    mine.fetch_next_queries(next, round + 1);
    mine.attend(round, next < args.works);
    mine.store(round);
  }
}

template <typename T, int C>
__global__ void __launch_bounds__(kThreads, 1)
    attend_kernel(const __grid_constant__ NarrowArguments args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  work<NarrowTile<T, C>>(args, memory);
#endif
}

}  // namespace perceiver::narrow
