// The forward kernel of few_keys.h for Hopper, with the warpgroup's products and the copy
// engine. For .cu files only.
#pragma once

#include <algorithm>
#include <numbers>

#include "perceiver/kernels/attention/few_keys_forward_sm80.h"
#include "perceiver/kernels/attention/few_keys_wgmma.h"

namespace perceiver::resident {

// Rows come in tiles of 64, the columns of each by themselves.
inline constexpr int kTileColumn = kTileRows * kColumnRow;

// A block has up to four tiles of queries. Its warpgroups take one at a time, and a tile of keys at
// once. The warps of one more have rows brought and results taken away.
inline constexpr int kMostQueryTiles = 4, kMostWarpgroups = 2;
__host__ __device__ constexpr int forward_threads(int warpgroups) { return 128 * (warpgroups + 1); }

// In bytes, all in tiles: queries [64, F] of the block and keys [M, F], with what is added to the
// scores of each key, for one head or two; values [64, V], for more than a head where there is
// room; results [64, V] of each warpgroup, on their way. Last the barriers.
template <int F, int V>
struct HopperForwardMemory {
  static constexpr uint32_t kKeys = kTileRows * F * 2, kValues = kTileRows * V * 2;
  int warpgroups, query_tiles, key_tiles, heads, value_tiles;
  uint32_t keys, offsets, end_of_head, values, results, barriers;  // queries are at 0

  HopperForwardMemory(int num_query_tiles, int num_keys)
      : warpgroups(std::min(kMostWarpgroups, num_query_tiles)),
        query_tiles(num_query_tiles),
        key_tiles((num_keys + kTileRows - 1) / kTileRows) {
    keys = query_tiles * kKeys;
    offsets = keys + key_tiles * kKeys;
    end_of_head = rounded_up(offsets + key_tiles * kTileRows * sizeof(float), 1024);
    place(1, key_tiles);
  }
  void place(int num_heads, int num_value_tiles) {
    heads = num_heads, value_tiles = num_value_tiles;
    values = heads * end_of_head;
    results = values + value_tiles * kValues;
    barriers = results + warpgroups * kValues;
  }
  // For the next head's rows to come while one is worked on, in as much as there is.
  void grow(uint32_t room) {
    const uint32_t there = room - std::min(room, bytes() + end_of_head + 16);
    const int more = std::min<int>(key_tiles, there / (kValues + 16));
    if (more > 0) place(2, key_tiles + more);
  }
  uint32_t bytes() const { return barriers + 16 * (heads + value_tiles + warpgroups); }
  __host__ __device__ int queries_of_block() const { return query_tiles * kTileRows; }
  __host__ __device__ int query_blocks(int queries) const {
    return (queries + queries_of_block() - 1) / queries_of_block();
  }
};

// A warpgroup's 64 queries: the products with some keys.
template <typename T, int F, int V>
struct WarpgroupQueries {
  uint32_t q[F / 16][4];
  float scores[kTileRows / 8][4], sums[V / 8][4];
  uint32_t weights[kTileRows / 16][4];
  RunningRow low, high;

  __device__ __forceinline__ void start_scores(uint32_t keys) {
    hopper::product_fence();
#pragma unroll
    for (int c = 0; c < F / 16; ++c) {
      multiply_factors<T, kTileRows, false>(scores[0], q[c], channels_at(keys, kTileRows, c),
                                            c > 0);
    }
    hopper::product_commit();
  }

  __device__ __forceinline__ void round_weights() {
#pragma unroll
    for (int k = 0; k < kTileRows / 16; ++k) {
      round_to_factors<T>(weights[k], scores[2 * k], scores[2 * k + 1]);
    }
  }

  __device__ __forceinline__ void start_values(uint32_t values, int add) {
    hopper::product_fence();
#pragma unroll
    for (int k = 0; k < kTileRows / 16; ++k) {
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
};

// A block of queries at work, and where its rows are.
struct HeadAtWork {
  int work;
  HeadPlace of;
  int first_query, place = 0, first_values = 0;
  uint32_t phase = 0, values_phase = 0;
};
struct TileAtWork {
  HeadAtWork head;
  int tile;
};

template <typename T, int F, int V>
struct HopperAttend {
  using Memory = HopperForwardMemory<F, V>;
  const HopperForward<F, V>& args;
  const ResidentAttention& a;
  const Memory& at;
  uint8_t* const memory;
  const uint32_t base;

  __device__ bool has_offsets() const { return a.kv_mask != nullptr || a.keys % kTileRows != 0; }

  // Blocks of queries are numbered through; those of a head follow each other. A block of threads
  // has every gridDim.x-th.
  __device__ void go_to(HeadAtWork& head, int work) const {
    const int blocks = at.query_blocks(a.queries), number = work / blocks;
    head.work = work;
    head.of = {number / a.heads, number % a.heads};
    head.first_query = work % blocks * at.queries_of_block();
  }
  __device__ HeadAtWork first_head() const {
    HeadAtWork head{};
    go_to(head, blockIdx.x);
    return head;
  }
  __device__ HeadAtWork after(HeadAtWork head) const {
    go_to(head, head.work + gridDim.x);
    if (++head.place == at.heads) head.place = 0, head.phase ^= 1;
    head.first_values += at.key_tiles;
    if (head.first_values >= at.value_tiles) {
      head.first_values -= at.value_tiles, head.values_phase ^= 1;
    }
    return head;
  }
  __device__ bool is_there(const HeadAtWork& head) const { return head.of.example < a.batch; }

  // A warpgroup has every so many tiles of queries.
  __device__ bool is_last_of_head(const TileAtWork& x) const {
    return x.tile + at.warpgroups >= at.query_tiles;
  }
  __device__ TileAtWork after(const TileAtWork& x) const {
    const int tile = x.tile + at.warpgroups;
    if (tile < at.query_tiles) return {x.head, tile};
    return {after(x.head), tile - at.query_tiles};
  }

  __device__ uint32_t queries(const HeadAtWork& head) const {
    return base + head.place * at.end_of_head;
  }
  __device__ uint32_t keys(const HeadAtWork& head) const { return queries(head) + at.keys; }
  __device__ float* offsets(const HeadAtWork& head) const {
    return reinterpret_cast<float*>(memory + head.place * at.end_of_head + at.offsets);
  }
  // Barriers: queries and keys are there; the warps are done with them.
  __device__ uint32_t keys_there(const HeadAtWork& head) const {
    return base + at.barriers + 16 * head.place;
  }
  __device__ uint32_t keys_done(const HeadAtWork& head) const { return keys_there(head) + 8; }

  // A tile of a head's values. The places for them go round.
  struct Values {
    uint32_t rows, there, done, phase;
  };
  __device__ Values values(const HeadAtWork& head, int tile) const {
    const int i = head.first_values + tile;
    const bool again = i >= at.value_tiles;
    const uint32_t place = again ? i - at.value_tiles : i;
    const uint32_t barrier = base + at.barriers + 16 * (at.heads + place);
    return {base + at.values + place * Memory::kValues, barrier, barrier + 8,
            head.values_phase ^ (again ? 1u : 0u)};
  }

  // A warpgroup's results are there, and have been taken away.
  __device__ uint32_t results(int group) const {
    return base + at.results + group * Memory::kValues;
  }
  __device__ uint32_t results_there(int group) const {
    return base + at.barriers + 16 * (at.heads + at.value_tiles + group);
  }
  __device__ uint32_t results_done(int group) const { return results_there(group) + 8; }

  __device__ void init_barriers() const {
    for (int i = 0; i < at.heads + at.value_tiles; ++i) {
      const uint32_t there = base + at.barriers + 16 * i;
      hopper::barrier_init(there, i < at.heads ? 2 : 1);
      hopper::barrier_init(there + 8, 4 * at.warpgroups);
    }
    for (int i = 0; i < at.warpgroups; ++i) {
      hopper::barrier_init(results_there(i), 4);
      hopper::barrier_init(results_done(i), 1);
    }
    hopper::barrier_init_fence();
  }

  // Rows that are not there arrive as zeros.
  __device__ void copy_keys(const HeadAtWork& head) const {
    const HeadPlace& of = head.of;
    const uint32_t barrier = keys_there(head);
    hopper::barrier_arrive_and_expect(barrier, (at.query_tiles + at.key_tiles) * Memory::kKeys);
    for (int i = 0; i < at.query_tiles; ++i) {
      // Queries that are the same for all examples are those of the first.
      copy_boxes<F>(queries(head) + i * Memory::kKeys, kTileRows, args.maps.q,
                    head.first_query + i * kTileRows, {a.q.batch == 0 ? 0 : of.example, of.head},
                    barrier);
    }
    for (int i = 0; i < at.key_tiles; ++i) {
      copy_boxes<F>(keys(head) + i * Memory::kKeys, kTileRows, args.maps.k, i * kTileRows, of,
                    barrier);
    }
  }
  __device__ void copy_values(const HeadAtWork& head) const {
    for (int i = 0; i < at.key_tiles; ++i) {
      const Values to = values(head, i);
      hopper::barrier_wait(to.done, to.phase ^ 1);
      hopper::barrier_arrive_and_expect(to.there, Memory::kValues);
      copy_boxes<V>(to.rows, kTileRows, args.maps.v, i * kTileRows, head.of, to.there);
    }
  }

  // What the warp does that has rows brought: keys first, values as there is room for them, and no
  // head's before the values of the last one have begun to arrive.
  __device__ void copy_all() const {
    const int lane = threadIdx.x % 32;
    for (HeadAtWork head = first_head(); is_there(head); head = after(head)) {
      hopper::barrier_wait(keys_done(head), head.phase ^ 1);
      if (lane == 0) copy_keys(head);
      if (has_offsets()) {
        set_offsets(offsets(head), a, head.of, at.key_tiles * kTileRows, lane, 32);
      }
      arrive(keys_there(head));
      if (lane == 0) copy_values(head);
      __syncwarp();
      const Values first = values(head, 0);
      hopper::barrier_wait(first.there, first.phase);
    }
  }

  __device__ static int warp_row() { return threadIdx.x % 128 / 32 * 16; }

  // Starts the first scores of a tile of queries.
  __device__ __forceinline__ void begin(WarpgroupQueries<T, F, V>& mine,
                                        const TileAtWork& x) const {
    hopper::barrier_wait(keys_there(x.head), x.head.phase);
    load_column_factors<F>(mine.q, queries(x.head) + x.tile * Memory::kKeys, kTileRows, warp_row());
    mine.start_scores(keys(x.head));
  }
  __device__ __forceinline__ void start_values(WarpgroupQueries<T, F, V>& mine,
                                               const HeadAtWork& head, int tile) const {
    const Values v = values(head, tile);
    hopper::barrier_wait(v.there, v.phase);
    mine.start_values(v.rows, tile > 0);
  }
  __device__ __forceinline__ RowMoves weigh_scores(WarpgroupQueries<T, F, V>& mine,
                                                   const HeadAtWork& head, int tile) const {
    hold_tiles(mine.scores);
    if (a.kv_mask != nullptr || (tile + 1) * kTileRows > a.keys) {
      hide(mine.scores, offsets(head) + tile * kTileRows);
    }
    const RowMoves moves =
        weigh(mine.scores, mine.low, mine.high, a.scale * std::numbers::log2e_v<float>);
    hold_tiles(mine.scores);
    return moves;
  }

  // What the warp does that has a warpgroup's results taken away, in boxes as the values came. Its
  // warpgroup would wait for each of them to be started.
  __device__ void store_all(int group) const {
    if (threadIdx.x % 32 != 0) return;
    uint32_t phase = 0;
    for (TileAtWork x{first_head(), group}; is_there(x.head); x = after(x), phase ^= 1) {
      hopper::barrier_wait(results_there(group), phase);
#pragma unroll
      for (int i = 0; i < V / 32; ++i) {
        hopper::store_head_box({&args.maps.out, 32 * i, x.head.first_query + x.tile * kTileRows,
                                x.head.of.head, x.head.of.example},
                               results(group) + i * kTileColumn);
      }
      hopper::close_group_of_stores();
      hopper::wait_until_stores_have_read();
      hopper::barrier_arrive(results_done(group));
    }
  }

  // A tile's sums, once they are complete; `phase` is that of the results before.
  __device__ __forceinline__ void store(const float (&sums)[V / 8][4], const TileAtWork& x,
                                        int group, uint32_t phase, RunningRow low,
                                        RunningRow high) const {
    const RowFactors by = complete(low, high);
    hopper::barrier_wait(results_done(group), phase);
    store_to_columns<T>(results(group), kTileRows, warp_row(), sums, by.low, by.high);
    hopper::show_to_copy_engine();
    arrive(results_there(group));
    store_log_sums(a, x.head.of, x.head.first_query + x.tile * kTileRows + warp_row(), low, high);
  }

  // Two warpgroups start their products in turns: then the weights of one are computed while the
  // tensor cores work for the other, and not those of both at once. They must have as many tiles.
  __device__ bool in_turns() const { return at.warpgroups == 2 && at.query_tiles % 2 == 0; }
  __device__ void wait_for_turn(int group) const {
    if (in_turns()) asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
  }
  __device__ void give_turn(int group) const {
    if (in_turns()) asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
  }

  // What a warpgroup does. The last keys' values are multiplied while these keys' scores become
  // weights, and the next keys' scores before these keys' values, from one tile of queries to the
  // next: the tensor cores are never without work for long.
  __device__ __forceinline__ void attend_all(int group) const {
    TileAtWork x{first_head(), group};
    WarpgroupQueries<T, F, V> mine;
    begin(mine, x);
    hopper::product_wait<0>();
    RowMoves moves = weigh_scores(mine, x.head, 0);
    if (group == 1) give_turn(group);
    for (uint32_t phase = 1;; phase ^= 1) {
      const bool is_last = is_last_of_head(x);
      int i = 0;
#pragma unroll 1
      for (;; ++i) {
        hopper::product_wait<0>();
        hold_tiles(mine.sums);
        hold_tiles(mine.scores);  // the weights' registers are in use until here
        if (i > 0) {
          follow(mine.sums, moves);
          if (is_last) arrive(values(x.head, i - 1).done);
        }
        mine.round_weights();
        if (i + 1 == at.key_tiles) break;
        wait_for_turn(group);
        mine.start_scores(keys(x.head) + (i + 1) * Memory::kKeys);
        start_values(mine, x.head, i);
        give_turn(group);
        hopper::product_wait<1>();
        moves = weigh_scores(mine, x.head, i + 1);
      }
      if (is_last) arrive(keys_done(x.head));
      const RunningRow low = mine.low, high = mine.high;
      const TileAtWork next = after(x);
      const bool goes_on = is_there(next.head);
      wait_for_turn(group);
      if (goes_on) {
        begin(mine, next);
        start_values(mine, x.head, i);
        give_turn(group);
        hopper::product_wait<1>();
        mine.low = mine.high = {};
        moves = weigh_scores(mine, next.head, 0);
      } else {
        start_values(mine, x.head, i);
        give_turn(group);
      }
      hopper::product_wait<0>();
      hold_tiles(mine.sums);
      hold_tiles(mine.scores);
      if (is_last) arrive(values(x.head, i).done);
      store(mine.sums, x, group, phase, low, high);
      if (!goes_on) break;
      x = next;
    }
  }
};

template <typename T, int F, int V>
__global__ void __launch_bounds__(forward_threads(kMostWarpgroups), 1)
    hopper_attend_kernel(const __grid_constant__ HopperForward<F, V> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  const HopperAttend<T, F, V> attend{args, args.a, args.at, memory, hopper::shared_address(memory)};
  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&args.maps.q, &args.maps.k, &args.maps.v, &args.maps.out}) {
      hopper::prefetch_map(map);
    }
    attend.init_barriers();
  }
  __syncthreads();
  let_next_kernel_come();
  wait_for_kernels_before();
  if (group == args.at.warpgroups) {
    hopper::give_registers<kHelperRegisters<F>>();
    const int helper = threadIdx.x % 128 / 32;
    if (helper < group) attend.store_all(helper);
    if (helper == 3) attend.copy_all();
  } else {
    hopper::take_registers<kWorkerRegisters<F>>();
    attend.attend_all(group);
  }
#endif
}

}  // namespace perceiver::resident
