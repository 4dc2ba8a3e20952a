// The kernel of product_hopper. In each block one warp asks the copy engine for stages of x and
// weight, a ring of them; three take notes of what the end of a tile needs to know; the warpgroups
// multiply, 64 rows each.
#pragma once

#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/tma.h"
#include "perceiver/kernels/cuda/wgmma.h"
#include "perceiver/kernels/linear/gemm_sm90_finish.h"

namespace perceiver::hopper {

struct ProductArguments {
  CUtensorMap x, weight, residual, result;
  HopperProduct p;
  int row_tiles, column_tiles;
  int steps;  // stages of the inner dimension
};

template <class Tile, Finish kFinish>
struct ProductBlock {
  using Sums = TileSums<Tile, kFinish>;
  const ProductArguments& args;
  uint8_t* const memory;
  const uint32_t base;

  __device__ uint32_t stage_at(uint32_t stage) const { return base + stage * Tile::kStageBytes; }
  __device__ uint32_t full(uint32_t stage) const { return base + Tile::kBarriersAt + 8 * stage; }
  __device__ uint32_t empty(uint32_t stage) const { return full(Tile::kStages + stage); }
  __device__ uint32_t residual_there(int group) const { return full(2 * Tile::kStages + group); }
  __device__ uint32_t staging(int group) const {
    return base + Tile::kResultsAt + group * Tile::kResultBytes;
  }
  __device__ float4* columns() const {
    return reinterpret_cast<float4*>(memory + Tile::kColumnsAt);
  }
  __device__ RowNorm* norms() const { return reinterpret_cast<RowNorm*>(memory + Tile::kNormsAt); }

  // Tiles of the same rows follow each other: x comes from memory once.
  __device__ int num_tiles() const { return args.row_tiles * args.column_tiles; }
  __device__ int row_of(int tile) const { return tile / args.column_tiles * Tile::kRows; }
  __device__ int column_of(int tile) const { return tile % args.column_tiles * Tile::kColumns; }

  // By one thread each.
  __device__ __forceinline__ void init_barriers() const {
    for (int i = 0; i < Tile::kStages; ++i) {
      barrier_init(full(i), 1);
      barrier_init(empty(i), 4 * Tile::kGroups);  // warps that multiply
    }
    for (int group = 0; group < Tile::kGroups; ++group) barrier_init(residual_there(group), 1);
    barrier_init_fence();
  }
  __device__ __forceinline__ void prefetch_maps() const {
    prefetch_map(&args.weight);
    prefetch_map(&args.x);
    if (Sums::kAdded) prefetch_map(&args.residual);
    prefetch_map(&args.result);
  }

  __device__ __forceinline__ void copy_x(uint32_t stage, int step, int tile) const {
    copy_box(stage_at(stage), {&args.x, step * kStageChannels, row_of(tile), 0}, full(stage));
  }
  __device__ __forceinline__ void copy_weight(uint32_t stage, int step, int tile) const {
    copy_box(stage_at(stage) + Tile::kXBytes,
             {&args.weight, step * kStageChannels, column_of(tile), 0}, full(stage));
  }

  // By one thread. The first weights come before the kernels before this one are done.
  __device__ __forceinline__ void fetch() const {
    int tile = blockIdx.x;
    const int ahead = min(Tile::kStages, args.steps);
    for (int step = 0; step < ahead; ++step) {
      barrier_arrive_and_expect(full(step), Tile::kStageBytes);
      copy_weight(step, step, tile);
    }
    wait_for_kernels_before();
    for (int step = 0; step < ahead; ++step) copy_x(step, step, tile);
    uint32_t stage = ahead % Tile::kStages, phase = ahead == Tile::kStages;
    int step = ahead;
    for (; tile < num_tiles(); tile += gridDim.x, step = 0) {
#pragma unroll 1
      for (; step < args.steps; ++step) {
        barrier_wait(empty(stage), phase ^ 1);
        barrier_arrive_and_expect(full(stage), Tile::kStageBytes);
        copy_x(stage, step, tile);
        copy_weight(stage, step, tile);
        if (++stage == Tile::kStages) stage = 0, phase ^= 1;
      }
    }
  }

  // Each warp by itself: a product may be done for one and not for another.
  __device__ __forceinline__ void release(uint32_t stage) const {
    if (threadIdx.x % 32 == 0) barrier_arrive(empty(stage));
  }

  __device__ __forceinline__ void multiply(Sums& sums, int group, uint32_t& stage,
                                           uint32_t& phase) const {
    using T = typename Tile::Element;
    uint32_t before = 0;
#pragma unroll 1
    for (int step = 0; step < args.steps; ++step) {
      barrier_wait(full(stage), phase);
      const uint32_t x = start16_of(stage_at(stage) + group * 64 * kStageRow);
      const uint32_t weight = start16_of(stage_at(stage) + Tile::kXBytes);
      product_fence();
#pragma unroll
      for (int k = 0; k < kStageChannels / 16; ++k) {
        product<T, Tile::kColumns>(sums.at, inner_descriptor<Swizzle::k128>(x, k * 32),
                                   inner_descriptor<Swizzle::k128>(weight, k * 32),
                                   step > 0 || k > 0);
      }
      product_commit();
      if (step > 0) {
        product_wait<1>();
        release(before);
      }
      before = stage;
      if (++stage == Tile::kStages) stage = 0, phase ^= 1;
    }
    product_wait<0>();
    hold(sums.at);
    release(before);
  }

  // Bias and sum of weights of the tile's columns, by twos.
  __device__ __forceinline__ void note_columns(int first, int thread) const {
    using T = typename Tile::Element;
    const HopperProduct& p = args.p;
    for (int i = thread; i < Tile::kColumns / 2; i += kNoters) {
      const int column = first + 2 * i;
      float2 bias{}, sums{};
      if (column < p.out) {
        bias = unpacked<T>(static_cast<const uint32_t*>(p.bias)[column / 2]);
        if (Sums::kNormed) sums = reinterpret_cast<const float2*>(p.column_sums)[column / 2];
      }
      columns()[i] = {bias.x, bias.y, sums.x, sums.y};
    }
  }

  __device__ __forceinline__ void note_norms(int first, int thread) const {
    const HopperProduct& p = args.p;
    for (int i = thread; i < Tile::kRows; i += kNoters) {
      norms()[i] = first + i < p.rows
                       ? norm_of(p.x_moments, static_cast<int>(p.x_channels), first + i)
                       : RowNorm{};
    }
  }

  // By the warps that neither fetch nor multiply. What belongs to the weight comes before the
  // kernels before this one are done.
  __device__ __forceinline__ void take_notes(int thread) const {
    for (int tile = blockIdx.x; tile < num_tiles(); tile += gridDim.x) {
      const bool is_first = tile == static_cast<int>(blockIdx.x);
      if (!is_first) meet_at<kNotesRead>();
      note_columns(column_of(tile), thread);
      if (Sums::kNormed) {
        if (is_first) wait_for_kernels_before();
        note_norms(row_of(tile), thread);
      }
      arrive_at<kNotesTaken>();
    }
  }

  // By one thread: when the last rows have gone, the residual of the next ones may come.
  __device__ __forceinline__ void free_staging(int group, int row, int column) const {
    wait_until_stores_have_read();
    if constexpr (Sums::kAdded) {
      barrier_arrive_and_expect(residual_there(group), Tile::kResultBytes);
#pragma unroll
      for (int i = 0; i < Tile::kBoxes; ++i) {
        copy_box(staging(group) + i * Tile::kBoxBytes,
                 {&args.residual, column + i * Tile::kBoxColumns, row, 0}, residual_there(group));
      }
    }
  }

  __device__ __forceinline__ void store(int group, int row, int column) const {
#pragma unroll
    for (int i = 0; i < Tile::kBoxes; ++i) {
      store_box({&args.result, column + i * Tile::kBoxColumns, row, 0},
                staging(group) + i * Tile::kBoxBytes);
    }
    close_group_of_stores();
  }

  __device__ __forceinline__ void compute(int group) const {
    const bool leads = threadIdx.x % 128 == 0;
    uint32_t stage = 0, phase = 0, residual_phase = 0;
    wait_for_kernels_before();
    for (int tile = blockIdx.x; tile < num_tiles(); tile += gridDim.x) {
      const int row = row_of(tile) + 64 * group, column = column_of(tile);
      if (leads) free_staging(group, row, column);
      Sums sums;
      multiply(sums, group, stage, phase);
      if constexpr (Sums::kAdded) {
        barrier_wait(residual_there(group), residual_phase);
        residual_phase ^= 1;
      }
      meet_at<kNotesTaken>();  // and the last tile's rows have gone, as the leader knows
      sums.finish(args.p, row, column, norms() + 64 * group, columns(), staging(group));
      show_to_copy_engine();
      meet_group(group);
      if (leads) store(group, row, column);
      if (tile + static_cast<int>(gridDim.x) < num_tiles()) arrive_at<kNotesRead>();
    }
    if (leads) wait_until_stores_have_read();
  }

  // Barriers of those that take notes and those that multiply, and of one warpgroup of the latter.
  static constexpr int kNoters = 96, kNotesTaken = 1, kNotesRead = 2, kGroupBarriers = 3;
  template <int kBarrier>
  static __device__ __forceinline__ void meet_at() {
    asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kNoters + 128 * Tile::kGroups) : "memory");
  }
  template <int kBarrier>
  static __device__ __forceinline__ void arrive_at() {
    asm volatile("bar.arrive %0, %1;" ::"n"(kBarrier), "n"(kNoters + 128 * Tile::kGroups)
                 : "memory");
  }
  static __device__ __forceinline__ void meet_group(int group) {
    asm volatile("bar.sync %0, 128;" ::"r"(kGroupBarriers + group) : "memory");
  }
};

template <class Tile, Finish kFinish>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    product_kernel(const __grid_constant__ ProductArguments args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const ProductBlock<Tile, kFinish> block{args, memory, shared_address(memory)};
  if (threadIdx.x == 0) block.init_barriers();
  if (threadIdx.x == 32) block.prefetch_maps();
  let_next_kernel_come();
  __syncthreads();
  const int group = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  if (group == Tile::kGroups) {
    const int thread = static_cast<int>(threadIdx.x) - 128 * Tile::kGroups;
    if (thread == 0) block.fetch();
    if (thread >= 32) block.take_notes(thread - 32);
  } else {
    block.compute(group);
  }
#endif
}

}  // namespace perceiver::hopper
