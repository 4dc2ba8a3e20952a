// How attention_hopper is started for one size of tiles: how keys are split among blocks, the maps
// the copy engine reads by, the launch, and the sum of the parts.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "perceiver/kernels/cuda/attention_hopper.h"
#include "perceiver/kernels/cuda/attention_hopper_kernel.h"

namespace perceiver {

constexpr float kLog2E = 1.4426950408889634f;
constexpr int kMostSplits = 32;  // a lane of a warp each, when they are summed

// Channels as they are stored: a thread writes eight.
inline int padded_channels(const HopperAttention& a) {
  return static_cast<int>((a.channels + 7) / 8 * 8);
}

// Tiles of keys are given out in `splits` runs of `per_split`, so that all multiprocessors work.
struct HopperPlan {
  int query_tiles, tiles, splits, per_split;

  // Floats in the workspace: the sums of all splits, then their maxima and totals.
  int64_t sums(const HopperAttention& a) const {
    return splits > 1 ? splits * a.batch * a.queries * padded_channels(a) : 0;
  }
  int64_t floats(const HopperAttention& a) const {
    return splits > 1 ? sums(a) + 2 * splits * a.batch * a.queries : 0;
  }
};

// The number of splits that ends first, in units of one tile's time. A round of blocks has its
// start and end, worth about two tiles; each split of a tile of queries has its partial sums to be
// written and read, about a twentieth of a tile when all multiprocessors do it.
inline int best_splits(int works, int tiles, int slots) {
  int best = 1;
  double best_cost = 1e30;
  for (int wanted = 1; wanted <= std::min(kMostSplits, tiles); ++wanted) {
    const int per_split = (tiles + wanted - 1) / wanted;
    const int splits = (tiles + per_split - 1) / per_split;
    const int rounds = (works * splits + slots - 1) / slots;
    const double sums = splits > 1 ? 2.0 + 0.05 * works * splits : 0.0;
    const double cost = rounds * (per_split + 2.0) + sums;
    if (cost < best_cost) {
      best_cost = cost;
      best = splits;
    }
  }
  return best;
}

template <class Tile>
HopperPlan hopper_plan(const HopperAttention& a, int multiprocessors, int splits = 0) {
  HopperPlan plan;
  plan.query_tiles = static_cast<int>((a.queries + Tile::kQueries - 1) / Tile::kQueries);
  plan.tiles = static_cast<int>((a.keys + Tile::kKeys - 1) / Tile::kKeys);
  if (splits == 0) {
    splits = best_splits(static_cast<int>(plan.query_tiles * a.batch), plan.tiles, multiprocessors);
  }
  plan.per_split = (plan.tiles + splits - 1) / splits;
  plan.splits = (plan.tiles + plan.per_split - 1) / plan.per_split;
  return plan;
}

// An array [B, rows, channels] and the boxes it is read in.
struct HopperArray {
  const void* data;
  int64_t rows, row_stride, batch_stride;
};

cudaError_t make_hopper_map(CUtensorMap* map, const HopperAttention& a, const HopperArray& array,
                            int box_rows, bool wide);

// out [B, N, F] from the partial sums of the splits; a warp a query.
cudaError_t sum_hopper_splits(const HopperAttention& a, const HopperPlan& plan,
                              cudaStream_t stream);

template <class Tile>
cudaError_t make_hopper_maps(HopperArguments& args, const HopperAttention& a) {
  const HopperArray q{a.q, a.queries, a.q_row, a.q_batch};
  const HopperArray k{a.k, a.keys, a.k_row, a.k_batch}, v{a.v, a.keys, a.v_row, a.v_batch};
  const struct {
    CUtensorMap* map;
    const HopperArray& array;
    int rows;
    bool wide;
  } maps[] = {{&args.q_wide, q, Tile::kQueries, true}, {&args.q_narrow, q, Tile::kQueries, false},
              {&args.k_wide, k, Tile::kKeys, true},    {&args.k_narrow, k, Tile::kKeys, false},
              {&args.v_wide, v, Tile::kKeys, true},    {&args.v_narrow, v, Tile::kKeys, false}};
  for (const auto& m : maps) {
    const cudaError_t error = make_hopper_map(m.map, a, m.array, m.rows, m.wide);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class Tile>
cudaError_t start_hopper(const HopperArguments& args, int multiprocessors, cudaStream_t stream) {
  const auto kernel = attention_hopper_kernel<Tile>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kSharedBytes);
  if (error != cudaSuccess) return error;
  const int works = args.query_tiles * args.splits * args.batch;
  kernel<<<std::min(works, multiprocessors), Tile::kThreads, Tile::kSharedBytes, stream>>>(args);
  return cudaGetLastError();
}

template <class Tile>
cudaError_t run_hopper(const HopperAttention& a, const HopperPlan& plan, int multiprocessors,
                       cudaStream_t stream) {
  HopperArguments args{};
  cudaError_t error = make_hopper_maps<Tile>(args, a);
  if (error != cudaSuccess) return error;
  args.out = a.out;
  args.log_sum_exp = a.log_sum_exp;
  args.kv_mask = a.kv_mask;
  args.out_row = a.out_row;
  args.out_batch = a.out_batch;
  args.mask_batch = a.mask_batch;
  args.batch = static_cast<int>(a.batch);
  args.queries = static_cast<int>(a.queries);
  args.keys = static_cast<int>(a.keys);
  args.channels = padded_channels(a);
  args.query_tiles = plan.query_tiles;
  args.tiles = plan.tiles;
  args.splits = plan.splits;
  args.per_split = plan.per_split;
  args.scale_log2 = a.scale * kLog2E;
  if (plan.splits > 1) {
    args.partial_sums = static_cast<float*>(a.workspace);
    args.partial_totals = reinterpret_cast<float2*>(args.partial_sums + plan.sums(a));
  }
  error = start_hopper<Tile>(args, multiprocessors, stream);
  if (error != cudaSuccess || plan.splits == 1) return error;
  return sum_hopper_splits(a, plan, stream);
}

}  // namespace perceiver
