// The kernel of attention_hopper. In each block one warp asks the copy engine for queries and for
// tiles of keys and values, a ring of them; two warpgroups compute, 64 queries each.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_attend.h"
#include "perceiver/kernels/attention/wide_heads_sm90_fetch.h"
#include "perceiver/kernels/cuda/dependent_launch.h"

namespace perceiver::hopper {

template <class Tile>
__device__ __forceinline__ void fetch(const KernelArguments& args,
                                      const SharedLayout<Tile>& shared) {
  Fetcher<Tile> fetcher{
      args, shared, {}, static_cast<int>(threadIdx.x % 32), static_cast<int>(blockIdx.x % 2)};
  uint32_t phase = 0;
  const int works = num_works(args);
  for (int index = blockIdx.x; index < works; index += gridDim.x) {
    const AttentionWork work = work_at(args, index);
    fetcher.queries(work, phase);
    phase ^= 1;
    // Values come one step behind their keys: the ring is filled as the warpgroups empty it.
#pragma unroll 1
    for (int tile = 0; tile < work.tiles; ++tile) {
      fetcher.keys(work, tile);
      if (!Tile::kKeysAreValues && tile >= 1) fetcher.values(work, tile - 1);
    }
    if (!Tile::kKeysAreValues) fetcher.values(work, work.tiles - 1);
  }
}

template <class Tile>
__device__ __forceinline__ void compute(const KernelArguments& args,
                                        const SharedLayout<Tile>& shared, int group) {
  Warpgroup<Tile> warpgroup{args, shared, group, {}};
  uint32_t phase = 0;
  if (group == 1) pass_turn(group);
  const int works = num_works(args);
  for (int index = blockIdx.x; index < works; index += gridDim.x) {
    const AttentionWork work = work_at(args, index);
    ValueSums<Tile> sums;
    RunningSoftmax softmax;
    barrier_wait(shared.queries_full(), phase);
    phase ^= 1;
    warpgroup.attend(work.tiles, sums, softmax);
    const int row =
        work.first_query + 64 * group + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    finish<Tile>(args, work, row, sums, softmax);
  }
}

template <class Tile>
__global__ void __maxnreg__(kEntryRegisters)
    attention_kernel(const __grid_constant__ KernelArguments args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const SharedLayout<Tile> shared(memory);
  if (threadIdx.x == 0) init_barriers(shared);
  let_next_kernel_come();
  if constexpr (Tile::kPaired) {
    meet_cluster();
  } else {
    __syncthreads();
  }
  wait_for_kernels_before();
  const int group = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  if (group == kWarpgroups) {
    give_registers<kFetchingRegisters>();
    if (threadIdx.x / 32 == 4 * kWarpgroups) fetch<Tile>(args, shared);
  } else {
    take_registers<kComputingRegisters>();
    compute<Tile>(args, shared, group);
  }
  // The other block may still write to this one's shared memory or arrive at its barriers.
  if constexpr (Tile::kPaired) meet_cluster();
#endif
}

}  // namespace perceiver::hopper
