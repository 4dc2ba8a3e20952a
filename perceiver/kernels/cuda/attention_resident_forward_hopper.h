// The forward kernel of attention_resident.h for Hopper, with the warpgroup's products. For .cu
// files only.
#pragma once

#include <algorithm>
#include <numbers>

#include "perceiver/kernels/cuda/attention_resident_forward.h"
#include "perceiver/kernels/cuda/attention_resident_wgmma.h"

namespace perceiver::resident {

// A block has up to four warpgroups of 64 queries. Scores are computed for 32 keys at once or, of
// many channels, 16: with the weights of those before and the sums they are registers.
inline constexpr int kMostWarpgroups = 4;
template <int V>
inline constexpr int kKeysAtOnce = V > 96 ? 16 : 32;

// Rows come in tiles of 64, the columns of each by themselves.
inline constexpr int kTileRows = 64, kTileColumn = kTileRows * kColumnRow;

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
  uint32_t bytes(int buffers) const { return buffers * end + 2 * sizeof(uint64_t); }  // barriers
  __host__ __device__ int queries_of_block() const { return warpgroups * kTileRows; }
  __host__ __device__ int query_blocks(int queries) const {
    return (queries + queries_of_block() - 1) / queries_of_block();
  }
};

// A warpgroup's 64 queries: the products with some keys.
template <typename T, int F, int V>
struct WarpgroupQueries {
  static constexpr int kStepKeys = kKeysAtOnce<V>;
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

// Boxes of 64 rows and 32 channels.
struct HopperForwardMaps {
  CUtensorMap q, k, v, out;
};

template <int F, int V>
struct HopperForward {
  ResidentAttention a;
  HopperForwardMaps maps;
  HopperForwardMemory<F, V> at;
  int buffers;
  // Whether results go through shared memory: where the values of a warpgroup's own tile were.
  bool staged;
};

template <typename T, int F, int V>
struct HopperAttend {
  using Memory = HopperForwardMemory<F, V>;
  const HopperForward<F, V>& args;
  const ResidentAttention& a;
  const Memory& at;
  uint8_t* const memory;
  const uint32_t base;
  const int group;  // of the thread's warpgroup
  static constexpr int kStepKeys = kKeysAtOnce<V>;

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

  __device__ uint32_t there(int buffer) const {
    return base + args.buffers * at.end + 8 * buffer;  // a barrier
  }
  __device__ bool has_offsets() const { return a.kv_mask != nullptr || a.keys % kTileRows != 0; }
  __device__ bool leads() const { return threadIdx.x % 128 == 0; }

  template <int C>
  __device__ void copy_tile(uint32_t to, const CUtensorMap& map, int row, const HeadPlace& of,
                            uint32_t barrier) const {
#pragma unroll
    for (int i = 0; i < C / 32; ++i) {
      hopper::copy_head_box(to + i * kTileColumn, {&map, 32 * i, row, of.head, of.example},
                            barrier);
    }
  }

  // By a warpgroup's leader: its queries, and every so many tiles of the keys and values, its own
  // among them. Rows that are not there arrive as zeros.
  __device__ void copy(int index, int buffer) const {
    const HeadPlace of = place(index);
    const uint32_t to = base + buffer * at.end, barrier = there(buffer);
    const int tiles = (at.tiles - group + at.warpgroups - 1) / at.warpgroups;
    hopper::barrier_arrive_and_expect(barrier,
                                      Memory::kKeys + tiles * (Memory::kKeys + Memory::kValues));
    // Queries that are the same for all examples are those of the first.
    copy_tile<F>(to + group * Memory::kKeys, args.maps.q, first_query(index) + group * kTileRows,
                 {a.q.batch == 0 ? 0 : of.example, of.head}, barrier);
    for (int tile = group; tile < at.tiles; tile += at.warpgroups) {
      copy_tile<F>(to + at.keys + tile * Memory::kKeys, args.maps.k, tile * kTileRows, of, barrier);
    }
    for (int tile = group; tile < at.tiles; tile += at.warpgroups) {
      copy_tile<V>(to + at.values + tile * Memory::kValues, args.maps.v, tile * kTileRows, of,
                   barrier);
    }
  }

  // The last keys' values are multiplied while these keys' scores become weights, and the next
  // keys' scores before these keys' values: the tensor cores are never without work for long.
  __device__ __forceinline__ void attend(WarpgroupQueries<T, F, V>& mine, int buffer) const {
    const float scale = a.scale * std::numbers::log2e_v<float>;
    const uint32_t from = base + buffer * at.end, queries = from + group * Memory::kKeys;
    const auto rows_at = [](uint32_t tiles, uint32_t tile_bytes, int row) {
      return tiles + row / kTileRows * tile_bytes + row % kTileRows * kColumnRow;
    };
    const auto start_scores = [&](int first) {
      mine.start_scores(queries, rows_at(from + at.keys, Memory::kKeys, first));
    };
    const auto start_values = [&](int first) {
      mine.start_values(rows_at(from + at.values, Memory::kValues, first), first > 0);
    };
    const auto weigh_scores = [&](int first) {
      hold_tiles(mine.scores);
      if (a.kv_mask != nullptr || first + kStepKeys > a.keys) {
        hide(mine.scores, offsets(buffer) + first);
      }
      const RowMoves moves = weigh(mine.scores, mine.low, mine.high, scale);
      hold_tiles(mine.scores);
      return moves;
    };
    start_scores(0);
    hopper::product_wait<0>();
    RowMoves moves = weigh_scores(0);
    int first = 0;
#pragma unroll 1
    for (;; first += kStepKeys) {
      hopper::product_wait<0>();
      hold_tiles(mine.sums);
      hold_tiles(mine.scores);  // the weights' registers are in use until here
      follow(mine.sums, moves);
#pragma unroll
      for (int k = 0; k < kStepKeys / 16; ++k) {
        round_to_factors<T>(mine.weights[k], mine.scores[2 * k], mine.scores[2 * k + 1]);
      }
      if (first + kStepKeys == at.tiles * kTileRows) break;
      start_scores(first + kStepKeys);
      start_values(first);
      hopper::product_wait<1>();
      moves = weigh_scores(first + kStepKeys);
    }
    start_values(first);
    hopper::product_wait<0>();
    hold_tiles(mine.sums);
  }

  // Through shared memory, in boxes as the values came, while the next head is worked on.
  __device__ __forceinline__ void store_staged(WarpgroupQueries<T, F, V>& mine, int index,
                                               int buffer) const {
    const uint32_t tile = base + buffer * at.end + at.values + group * Memory::kValues;
    const int first = first_query(index) + group * kTileRows, warp = threadIdx.x % 128 / 32;
    const RowFactors by = store_log_sums(a, place(index), first + warp * 16, mine.low, mine.high);
    const int lane = threadIdx.x % 32, row = warp * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < V / 8; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float factor = half == 0 ? by.low : by.high;
        const uint32_t word =
            pack_pair<T>(mine.sums[n][2 * half] * factor, mine.sums[n][2 * half + 1] * factor);
        const uint32_t to = tile + piece_at(kTileRows, row + 8 * half, n) + lane % 4 * 4;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
      }
    }
    hopper::show_to_copy_engine();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
    if (!leads()) return;
    const HeadPlace of = place(index);
#pragma unroll
    for (int i = 0; i < V / 32; ++i) {
      hopper::store_head_box({&args.maps.out, 32 * i, first, of.head, of.example},
                             tile + i * kTileColumn);
    }
    hopper::close_group_of_stores();
  }

  __device__ __forceinline__ void work() const {
    const int end = at.query_blocks(a.queries) * a.heads * a.batch, buffers = args.buffers;
    const auto note_offsets = [&](int index, int buffer) {
      if (has_offsets()) set_offsets(offsets(buffer), a, place(index), at.tiles * kTileRows);
    };
    // A leader's own stores are all that may still read from where it copies to.
    const auto copy_next = [&](int index, int buffer) {
      if (leads()) hopper::wait_until_stores_have_read(), copy(index, buffer);
      note_offsets(index, buffer);
    };
    if (leads()) copy(blockIdx.x, 0);
    note_offsets(blockIdx.x, 0);
    if (has_offsets()) __syncthreads();
    int buffer = 0;
    uint32_t phases = 0;  // a bit for each buffer
    for (int index = blockIdx.x; index < end; index += gridDim.x) {
      const int next = index + gridDim.x, other = buffers - 1 - buffer;
      hopper::barrier_wait(there(buffer), phases >> buffer & 1);
      phases ^= 1 << buffer;
      if (buffers == 2 && next < end) copy_next(next, other);
      WarpgroupQueries<T, F, V> mine;
      attend(mine, buffer);
      __syncthreads();
      if (args.staged) {
        store_staged(mine, index, buffer);
      } else {
        store_queries<T, V>(a, place(index), first_query(index) + threadIdx.x / 32 * 16, mine.sums,
                            mine.low, mine.high);
      }
      if (buffers == 1 && next < end) {
        copy_next(next, buffer);
        if (has_offsets()) __syncthreads();
      }
      buffer = other;
    }
    if (leads()) hopper::wait_until_stores_have_read();
  }
};

// Each block takes every gridDim.x-th of all blocks of queries.
template <typename T, int F, int V>
__global__ void __launch_bounds__(128 * kMostWarpgroups, 1)
    hopper_attend_kernel(const __grid_constant__ HopperForward<F, V> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  const HopperAttend<T, F, V> attend{args, args.a, args.at, memory, hopper::shared_address(memory),
                                     group};
  if (threadIdx.x == 0) {
    for (int i = 0; i < args.buffers; ++i)
      hopper::barrier_init(attend.there(i), args.at.warpgroups);
    hopper::barrier_init_fence();
  }
  __syncthreads();
  let_next_kernel_come();
  wait_for_kernels_before();
  attend.work();
#endif
}

}  // namespace perceiver::resident
