// What attention_hopper's kernel is told, and how its blocks share out the work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_maps.h"
#include "perceiver/kernels/attention/wide_heads_sm90_tile.h"

namespace perceiver::hopper {

// Maps of q have boxes of kQueriesOfTile rows, those of k and v as many as a block fetches of a
// tile.
struct KernelArguments {
  AttentionMaps maps;
  void* out;
  float* log_sum_exp;
  float* partial_sums;     // [splits, B, N, channels], null when the keys are not split
  float2* partial_totals;  // [splits, B, N]: largest score, sum of weights
  const uint8_t* kv_mask;
  int64_t out_row, out_batch, mask_batch;
  int batch, queries, keys;
  int channels;  // F, rounded up to eights
  int query_tiles;
  int splits;            // of the keys
  int tiles, per_split;  // tiles of keys in all, and in each split but the last
  float scale_log2;      // scale / log(2)
};

// A tile of queries and a range of tiles of keys.
struct AttentionWork {
  int batch, split, first_query, first_tile, tiles;
};

// Neighbouring blocks have the same keys, which then come from the L2 cache.
__device__ __forceinline__ AttentionWork work_at(const KernelArguments& args, int index) {
  const int rest = index / args.query_tiles;
  AttentionWork work;
  work.split = rest % args.splits;
  work.batch = rest / args.splits;
  work.first_query = index % args.query_tiles * kQueriesOfTile;
  work.first_tile = work.split * args.per_split;
  work.tiles = min(args.per_split, args.tiles - work.first_tile);
  return work;
}

__host__ __device__ inline int num_works(const KernelArguments& args) {
  return args.query_tiles * args.splits * args.batch;
}

}  // namespace perceiver::hopper
