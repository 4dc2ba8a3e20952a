// The kernel of narrow_mlp_hopper. A block keeps all weights in shared memory; rows come straight
// into registers, as the left factor of the first layer's product.
#pragma once

#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/tma.h"
#include "perceiver/kernels/cuda/wgmma.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_finish.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_rows.h"

namespace perceiver::hopper {

struct NarrowMlpArguments {
  NarrowMlp p;
  int tiles, channels;
  float share;  // of a channel in a mean
};

template <class Tile>
struct NarrowMlpBlock {
  using T = typename Tile::Element;
  const NarrowMlpArguments& args;
  uint8_t* const memory;
  const uint32_t base;

  __device__ uint32_t weights_there(int part) const { return base + Tile::kBarriersAt + 8 * part; }
  __device__ const float* narrow(int part) const {
    return reinterpret_cast<const float*>(memory + Tile::Narrow::kAt) +
           first_of_part(part) / 2 * Tile::Narrow::kFloats;
  }
  __device__ const float* bias() const {
    return reinterpret_cast<const float*>(memory + Tile::Narrow::kBiasAt);
  }

  // By one thread each.
  __device__ __forceinline__ void init_barriers() const {
    for (int part = 0; part < kMlpParts; ++part) barrier_init(weights_there(part), 1);
    barrier_init_fence();
  }
  __device__ __forceinline__ void fetch_weights() const {
    constexpr uint32_t kNarrow = Tile::Narrow::kEnd - Tile::Narrow::kAt;
    const auto* const from = static_cast<const uint8_t*>(args.p.packed);
#pragma unroll
    for (int part = 0; part < kMlpParts; ++part) {
      const uint32_t more = part == 0 ? kNarrow : 0;
      barrier_arrive_and_expect(weights_there(part), part_bytes(part) + more);
      copy_bytes(base + part_at(part), from + part_at(part), part_bytes(part), weights_there(part));
      if (more == 0) continue;
      copy_bytes(base + Tile::Narrow::kAt, from + Tile::Narrow::kAt, more, weights_there(part));
    }
  }
  __device__ __forceinline__ void prefetch(int tile) const {
    if (tile >= args.tiles) return;
    const NarrowMlp& p = args.p;
    const int64_t row = int64_t{tile} * kMlpGroupRows,
                  rows = min(p.rows - row, int64_t{kMlpGroupRows});
    prefetch_bytes(static_cast<const T*>(p.x) + row * p.x_stride,
                   static_cast<uint32_t>(((rows - 1) * p.x_stride + p.sizes.in) * 2));
  }

  template <int kPart>
  __device__ __forceinline__ void multiply(float (&sums)[width_of_part(kPart) / 2],
                                           const uint32_t (&a)[kMlpSteps][4]) const {
    constexpr uint32_t kPieceColumn = piece_column_bytes(kPart);
    const uint32_t weights = start16_of(base) + (part_at(kPart) >> 4);
    barrier_wait(weights_there(kPart), 0);
    product_fence();
#pragma unroll
    for (int step = 0; step < kMlpSteps; ++step) {
      product_with_rows<T, width_of_part(kPart)>(
          sums, a[step], descriptor<Swizzle::kNone, kPieceColumn>(weights, 2 * step * kPieceColumn),
          step > 0);
    }
    product_commit();
  }

  // A thread's first.
  static __device__ __forceinline__ int64_t row_of(int tile) {
    return int64_t{tile} * kMlpGroupRows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  }

  __device__ __forceinline__ void compute(int group) const {
    const NarrowMlp& p = args.p;
    const bool leads = threadIdx.x % 128 == 0;
    const int stride = kMlpWarpgroups * static_cast<int>(gridDim.x);
    int tile = group * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
    if (group == 1) pass_turn(group);
    wait_for_kernels_before();
    if (Tile::kFull && leads) prefetch(tile + stride);
    MlpRows<Tile> rows;
    rows.load(p, row_of(tile));
#pragma unroll 1
    for (; tile < args.tiles; tile += stride) {
      MlpFactor<Tile> factor;
      factor.set(rows, args.channels, args.share);
      const ScaledGelu<T> gelu[2] = {ScaledGelu<T>(factor.norm[0].rstd),
                                     ScaledGelu<T>(factor.norm[1].rstd)};
      MlpOutputs<Tile> outputs;
      float first[width_of_part(0) / 2], second[width_of_part(1) / 2];
      wait_for_turn(group, factor.norm);
      multiply<0>(first, factor.at);
      multiply<1>(second, factor.at);
      product_wait<1>();
      hold(first);
      outputs.add(first, gelu, narrow(0));
      float third[width_of_part(2) / 2];
      multiply<2>(third, factor.at);
      pass_turn(group);
      if (Tile::kFull && leads) prefetch(tile + 2 * stride);
      product_wait<1>();
      hold(second);
      outputs.add(second, gelu, narrow(1));
      keep_order();
      product_wait<0>();
      hold(third);
      rows.load(p, row_of(tile + stride));
      MlpResult<Tile> result;
      result.load_riders(p, row_of(tile));
      keep_order();
      outputs.add(third, gelu, narrow(2));
      float total[Tile::kOutputs / 2];
      outputs.share_out(gelu, total);
      result.store(p, total, bias());
    }
  }

  // A wait for what is long over. Left alone, `ptxas` puts the next rows' loads behind the work
  // that they are to come beside, and spills registers.
  __device__ __forceinline__ void keep_order() const { barrier_wait(weights_there(0), 0); }

  // One warpgroup's products stand before the tensor cores while the other does the rest. That is
  // to be done before: so that `ptxas` does not put it behind the barrier, its number depends on
  // it.
  static __device__ __forceinline__ void wait_for_turn(int group, const MlpNorm (&norm)[2]) {
    const uint32_t sign = (__float_as_uint(norm[0].rstd) | __float_as_uint(norm[1].rstd)) >> 31;
    asm volatile("bar.sync %0, 256;" ::"r"(1 + group + sign) : "memory");
  }
  static __device__ __forceinline__ void pass_turn(int group) {
    asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
  }
};

template <class Tile>
__global__ void __launch_bounds__(kMlpThreads, 1)
    narrow_mlp_kernel(const __grid_constant__ NarrowMlpArguments args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const NarrowMlpBlock<Tile> block{args, memory, shared_address(memory)};
  if (threadIdx.x == 0) {
    block.init_barriers();
    block.fetch_weights();
  }
  let_next_kernel_come();
  __syncthreads();
  block.compute(__shfl_sync(kAllLanes, threadIdx.x / 128, 0));
#endif
}

}  // namespace perceiver::hopper
