// The warpgroups of attention_narrow, 64 queries each. Each starts the scores of the next keys,
// turns those of the last into weights beside that product, and adds the values of sixteen keys as
// soon as these have theirs. For .cu files only.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/few_keys_rows.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_careful.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_products.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_weigh.h"

namespace perceiver::narrow {

struct NarrowArguments {
  HeadMaps maps;
  NarrowAttention a;
  float scale_log2;
  int query_blocks, works, tiles;  // blocks of queries of a head, of all; tiles of keys

  // Example, head and first query.
  __device__ int4 place(int work) const {
    const int head = work / query_blocks;
    return make_int4(head / a.heads, head % a.heads, work % query_blocks * kBlockQueries, 0);
  }
};

// Tiles are asked for so many before they are needed; all warpgroups are then long done with what
// was at their place.
template <class Tile>
inline constexpr int kTilesAhead = Tile::kStages / 2;

// A tile of a round is to come to a place of the ring. By one thread.
template <class Tile>
__device__ __forceinline__ void fetch_tile(const NarrowArguments& args,
                                           const NarrowLayout<Tile>& shared,
                                           const NarrowPlace<Tile>& to, uint32_t round, int tile) {
  const uint32_t barrier = shared.full(to);
  const int4 of = shared.work(round);
  hopper::barrier_wait(shared.empty(to), to.phase ^ 1);
  hopper::barrier_arrive_and_expect(barrier, 2 * Tile::kKeyBytes);
  hopper::copy_head_box(shared.keys(to), {&args.maps.k, 0, tile * kTileKeys, of.y, of.x}, barrier);
  hopper::copy_head_box(shared.values(to), {&args.maps.v, 0, tile * kTileKeys, of.y, of.x},
                        barrier);
}

template <class Tile>
struct NarrowWarpgroup {
  using T = typename Tile::Element;
  static constexpr int C = Tile::kChannels;
  static constexpr int kSteps = kTileKeys / Tile::kStepKeys, kParts = Tile::kStepKeys / 16;

  const NarrowArguments& args;
  NarrowLayout<Tile> shared;
  int warp, group = warp / 4;
  NarrowPlace<Tile> place = {};  // of the tile it is at
  uint32_t queries = 0;
  Sums<Tile> sums;
  uint32_t weights[kParts][4];
  Powers low, high;

  __device__ __forceinline__ void wait_for(const NarrowPlace<Tile>& tile) const {
    hopper::barrier_wait(shared.full(tile), tile.phase);
  }

  // Asks for the queries of a round.
  __device__ __forceinline__ void fetch_queries(const int4& of, uint32_t round) const {
    const uint32_t barrier = shared.queries_full(group, round);
    hopper::barrier_arrive_and_expect(barrier, Tile::kQueryBytes);
    hopper::copy_head_box(shared.queries(group, round),
                          {&args.maps.q, 0, of.z + group * kGroupQueries, of.y, of.x}, barrier);
  }

  // All four warps must be done with the queries of the round before this one. Where a round's work
  // is, is written before any of its tiles is asked for, and so is known to who waits for one.
  __device__ __forceinline__ void fetch_next_queries(int work, uint32_t round) const {
    if (work >= args.works) return;
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
    if (threadIdx.x % 128 != 0) return;
    const int4 of = args.place(work);
    if (group == 0) shared.work(round) = of;
    fetch_queries(of, round);
  }

  // A warp is done with a tile.
  __device__ __forceinline__ void release(const NarrowPlace<Tile>& tile) const {
    if (threadIdx.x % 32 == 0) hopper::barrier_arrive(shared.empty(tile));
  }

  // The tile that is a few behind this one, be it of this round or of the next.
  __device__ __forceinline__ void fetch_ahead(int tile, uint32_t round, bool has_next) const {
    constexpr int kAhead = kTilesAhead<Tile>;
    const bool is_next = tile + kAhead >= args.tiles;
    if (warp == 0 && (!is_next || has_next)) {
      if (threadIdx.x == 0) {
        fetch_tile(args, shared, place.behind(kAhead), round + is_next,
                   tile + kAhead - (is_next ? args.tiles : 0));
      }
      __syncwarp();
    }
  }

  // The first scores, and from them the origin.
  __device__ __forceinline__ void begin(uint32_t round, Scores<Tile>& scores) {
    queries = rows_low(shared.queries(group, round));
    hopper::barrier_wait(shared.queries_full(group, round), round / 2 % 2);
    wait_for(place);
    start_scores<Tile>(scores, queries, rows_low(shared.keys(place)));
#pragma unroll
    for (int i = 0; i < C / 2 + 4; ++i) sums[i / 4][i % 4] = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) weights[kParts - 1][i] = 0;
    hopper::product_wait<0>();
    hopper::hold(scores);
    float most_low, most_high;
    largest(scores, most_low, most_high);
    low.set(args.scale_log2, most_low * args.scale_log2 + kHeadroom<T>);
    high.set(args.scale_log2, most_high * args.scale_log2 + kHeadroom<T>);
  }

  // The values of the last sixteen keys of a step are left for the next one.
  __device__ __forceinline__ void start_late_values(const ValueRows<Tile>& values, int step) {
    start_values<Tile>(sums, weights[kParts - 1], values[kParts * step + kParts - 1]);
  }

  // Scores become weights, sixteen keys at a time, and each time the values of these are started.
  __device__ __forceinline__ void step(Scores<Tile>& now, Scores<Tile>& next,
                                       const ValueRows<Tile>& values, int which) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      weigh<T>(weights[i], now, i, low, high);
      if (i + 1 < kParts) start_values<Tile>(sums, weights[i], values[kParts * which + i]);
    }
    hopper::product_wait<0>();
    hold_sums();
    hopper::hold(next);
  }

  __device__ __forceinline__ void attend(uint32_t round, bool has_next) {
    constexpr uint32_t kStepRows = Tile::kStepKeys * Tile::kRow >> 4;
    Scores<Tile> scores[2];
    begin(round, scores[0]);
    ValueRows<Tile> before(shared, place, false);
    NarrowPlace<Tile> done = place;
#pragma unroll 1
    for (int tile = 0; tile < args.tiles; ++tile) {
      const bool is_last = tile + 1 == args.tiles;
      const ValueRows<Tile> values(shared, place, is_last);
      const uint32_t keys = rows_low(shared.keys(place));
      const NarrowPlace<Tile> next = place.behind(1);
      const uint32_t is_there = barrier_test(shared.full(next), next.phase);
#pragma unroll
      for (int i = 0; i < kSteps; ++i) {
        Scores<Tile>&now = scores[i % 2], &then = scores[1 - i % 2];
        start_late_values(i == 0 ? before : values, i == 0 ? kSteps - 1 : i - 1);
        if (i + 1 < kSteps) {
          start_scores<Tile>(then, queries, keys + (i + 1) * kStepRows);
        } else {
          // Behind the last tile its first keys are multiplied once more, for nobody.
          if (!is_last && !is_there) wait_for(next);
          start_scores<Tile>(then, queries, is_last ? keys : rows_low(shared.keys(next)));
        }
        step(now, then, values, i);
        if (i == 0) {
          if (tile > 0) release(done);
          fetch_ahead(tile, round, has_next);
        }
      }
      before = values;
      done = place;
      place = next;
    }
    start_late_values(before, kSteps - 1);
    hopper::product_wait<0>();
    hold_sums();
    release(done);
  }

  __device__ __forceinline__ void hold_sums() {
#pragma unroll
    for (int i = 0; i < C / 8 + 1; ++i) hopper::hold(sums[i]);
  }

  // All eight of the last sums of a row are the sum of its weights.
  __device__ __forceinline__ void store(uint32_t round) const {
    const int4 work = shared.work(round);
    const resident::HeadPlace of = {work.x, work.y};
    const int first = work.z + threadIdx.x / 32 * 16;
    const float all_low = sums[C / 8][0], all_high = sums[C / 8][2];
    if (__all_sync(0xffffffffu, all_low < kMostWeight && all_high < kMostWeight)) {
      const auto& of_values = reinterpret_cast<const float(&)[C / 8][4]>(sums);
      resident::store_rows(resident::rows_of<T>(args.a.out, of), args.a.out.row, first,
                           args.a.queries, of_values, 1.0f / all_low, 1.0f / all_high);
    } else {
      attend_carefully<T, C>(args.a, of, first);
    }
  }
};

}  // namespace perceiver::narrow
