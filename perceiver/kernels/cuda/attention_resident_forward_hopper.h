// The forward kernel of attention_resident.h for Hopper, with the warpgroup's products. For .cu
// files only.
#pragma once

#include <algorithm>
#include <numbers>

#include "perceiver/kernels/cuda/attention_resident_forward.h"
#include "perceiver/kernels/cuda/attention_resident_wgmma.h"

namespace perceiver::resident {

// A block has up to four warpgroups of 64 queries. Scores are computed for 32 keys at once: with
// their weights and the sums they are registers.
inline constexpr int kMostWarpgroups = 4, kStepKeys = 32;

// Rows come in tiles of 64, the columns of each by themselves.
inline constexpr int kTileRows = 64, kTileColumn = kTileRows * kColumnRow;

template <int C, typename T>
__device__ void copy_to_tiles(uint32_t to, const T* from, int64_t stride, int rows, int there) {
  const int part = threadIdx.x % 4;
  for (int row = threadIdx.x / 4; row < rows; row += blockDim.x / 4) {
    const bool is_there = row < there;
    const T* const row_from = from + (is_there ? row * stride + part * 8 : 0);
    const uint32_t tile = to + row / kTileRows * (kTileRows * C * 2);
#pragma unroll
    for (int i = 0; i < C / 32; ++i) {
      copy_ahead(tile + piece_at(kTileRows, row % kTileRows, i * 4 + part), row_from + i * 32,
                 is_there);
    }
  }
}

// In bytes: queries [64 a warpgroup, F], keys [M, F], values [M, V], in tiles; then what is added
// to the scores of each key. All of it twice where there is room: then the next head comes while
// one is worked on.
template <int F, int V>
struct HopperForwardMemory {
  static constexpr uint32_t kKeys = kTileRows * F * 2, kValues = kTileRows * V * 2;
  int warpgroups, tiles;
  uint32_t keys, values, offsets, end;  // queries are at 0

  HopperForwardMemory(int num_queries, int num_keys)
      : warpgroups(std::min(kMostWarpgroups, (num_queries + kTileRows - 1) / kTileRows)),
        tiles((num_keys + kTileRows - 1) / kTileRows) {
    keys = warpgroups * kKeys;
    values = keys + tiles * kKeys;
    offsets = values + tiles * kValues;
    end = rounded_up(offsets + tiles * kTileRows * sizeof(float), 1024);
  }
  __host__ __device__ int queries_of_block() const { return warpgroups * kTileRows; }
  __host__ __device__ int query_blocks(int queries) const {
    return (queries + queries_of_block() - 1) / queries_of_block();
  }
};

// A warpgroup's 64 queries: the products with 32 keys.
template <typename T, int F, int V>
struct WarpgroupQueries {
  float scores[kStepKeys / 8][4], sums[V / 8][4];
  uint32_t weights[kStepKeys / 16][4];
  RunningRow low, high;

  __device__ __forceinline__ void start_scores(uint32_t queries, uint32_t keys) {
    hopper::product_fence();
#pragma unroll
    for (int c = 0; c < F / 16; ++c) {
      multiply_columns<T, kStepKeys, false>(scores[0], channels_at(queries, kTileRows, c),
                                            channels_at(keys, kTileRows, c), c > 0);
    }
    hopper::product_commit();
  }

  __device__ __forceinline__ void start_values(uint32_t values, int add) {
    hopper::product_fence();
#pragma unroll
    for (int k = 0; k < kStepKeys / 16; ++k) {
      multiply_factors<T, V, true>(sums[0], weights[k],
                                   columns_at(values + k * 16 * kColumnRow, kTileColumn),
                                   k > 0 ? 1 : add);
    }
    hopper::product_commit();
  }
};

template <typename T, int F, int V>
struct HopperAttend {
  using Memory = HopperForwardMemory<F, V>;
  const ResidentAttention& a;
  const Memory& at;
  uint8_t* const memory;
  uint32_t base;

  // Blocks of queries are numbered through; those of a head follow each other.
  __device__ HeadPlace place(int index) const {
    const int head = index / at.query_blocks(a.queries);
    return {head / a.heads, head % a.heads};
  }
  __device__ int first_query(int index) const {
    return index % at.query_blocks(a.queries) * at.queries_of_block();
  }
  __device__ float* offsets(int buffer) const {
    return reinterpret_cast<float*>(memory + buffer * at.end + at.offsets);
  }

  __device__ void copy(int index, int buffer) const {
    const HeadPlace of = place(index);
    const int first = first_query(index);
    if (of.example < a.batch) {
      const uint32_t to = base + buffer * at.end;
      copy_to_tiles<F>(to, rows_of<T>(a.q, of) + first * a.q.row, a.q.row, at.queries_of_block(),
                       a.queries - first);
      copy_to_tiles<F>(to + at.keys, rows_of<T>(a.k, of), a.k.row, at.tiles * kTileRows, a.keys);
      copy_to_tiles<V>(to + at.values, rows_of<T>(a.v, of), a.v.row, at.tiles * kTileRows, a.keys);
      set_offsets(offsets(buffer), a, of, at.tiles * kTileRows);
    }
    end_group_of_copies();
  }

  __device__ __forceinline__ void attend(int index, int buffer) const {
    const float scale = a.scale * std::numbers::log2e_v<float>;
    const int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    const uint32_t from = base + buffer * at.end, queries = from + group * Memory::kKeys;
    WarpgroupQueries<T, F, V> mine;
#pragma unroll 1
    for (int first = 0; first < at.tiles * kTileRows; first += kStepKeys) {
      const uint32_t tile = first / kTileRows, row = first % kTileRows * kColumnRow;
      mine.start_scores(queries, from + at.keys + tile * Memory::kKeys + row);
      hopper::product_wait<0>();
      hold_tiles(mine.scores);
      if (a.kv_mask != nullptr || first + kStepKeys > a.keys) {
        hide(mine.scores, offsets(buffer) + first);
      }
      weigh(mine.scores, mine.sums, mine.low, mine.high, scale);
#pragma unroll
      for (int k = 0; k < kStepKeys / 16; ++k) {
        round_to_factors<T>(mine.weights[k], mine.scores[2 * k], mine.scores[2 * k + 1]);
      }
      mine.start_values(from + at.values + tile * Memory::kValues + row, first > 0);
      hopper::product_wait<0>();
      hold_tiles(mine.sums);
    }
    store_queries<T, V>(a, place(index), first_query(index) + threadIdx.x / 32 * 16, mine.sums,
                        mine.low, mine.high);
  }

  __device__ __forceinline__ void work(int buffers) const {
    const int end = at.query_blocks(a.queries) * a.heads * a.batch;
    int buffer = 0;
    copy(blockIdx.x, buffer);
    for (int index = blockIdx.x; index < end; index += gridDim.x) {
      const int other = buffers - 1 - buffer;
      if (buffers == 2) {
        copy(index + gridDim.x, other);
        wait_for_groups<1>();
      } else {
        wait_for_groups<0>();
      }
      hopper::show_to_copy_engine();
      __syncthreads();
      attend(index, buffer);
      __syncthreads();
      if (buffers == 1) copy(index + gridDim.x, buffer);
      buffer = other;
    }
  }
};

// Each block takes every gridDim.x-th of all blocks of queries.
template <typename T, int F, int V>
__global__ void __launch_bounds__(128 * kMostWarpgroups, 1)
    hopper_attend_kernel(const __grid_constant__ ResidentAttention a,
                         const __grid_constant__ HopperForwardMemory<F, V> at, int buffers) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  let_next_kernel_come();
  wait_for_kernels_before();
  HopperAttend<T, F, V>{a, at, memory, shared_address(memory)}.work(buffers);
#endif
}

}  // namespace perceiver::resident
