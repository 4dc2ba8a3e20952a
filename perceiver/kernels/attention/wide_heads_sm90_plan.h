// How attention_hopper cuts its arrays into tiles, and splits the keys of a query among blocks
// where there are fewer tiles of queries than multiprocessors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90.h"
#include "perceiver/kernels/attention/wide_heads_sm90_tile.h"

namespace perceiver::hopper {

constexpr int kMostSplits = 32;  // a lane of a warp each, when they are summed

// Channels as they are stored: a thread writes eight.
inline int stored_channels(const HopperAttention& a) {
  return static_cast<int>((a.v_channels + 7) / 8 * 8);
}

// A tile has as many columns for keys as for values.
inline int wide_columns_of(const HopperAttention& a) {
  return wide_columns_for(std::max(a.qk_channels, a.v_channels));
}

// Tiles of keys are given out in `splits` runs of `per_split`; the last may be shorter.
struct SplitPlan {
  int query_tiles, tiles, splits, per_split;

  // Floats in the workspace: the sums of all splits, then their maxima and totals.
  int64_t sums(const HopperAttention& a) const {
    return splits > 1 ? splits * a.batch * a.queries * stored_channels(a) : 0;
  }
  int64_t floats(const HopperAttention& a) const {
    return splits > 1 ? sums(a) + 2 * splits * a.batch * a.queries : 0;
  }
};

// The number of splits that ends first, in units of one tile's time. A round of blocks has its
// start and end, worth about two tiles; each split of a tile of queries has its partial sums to be
// written and read, about a twentieth of a tile when all multiprocessors do it.
inline int best_splits(int works, int tiles, int multiprocessors) {
  int best = 1;
  double best_cost = 1e30;
  for (int wanted = 1; wanted <= std::min(kMostSplits, tiles); ++wanted) {
    const int per_split = (tiles + wanted - 1) / wanted;
    const int splits = (tiles + per_split - 1) / per_split;
    const int rounds = (works * splits + multiprocessors - 1) / multiprocessors;
    const double sums = splits > 1 ? 2.0 + 0.05 * works * splits : 0.0;
    const double cost = rounds * (per_split + 2.0) + sums;
    if (cost < best_cost) {
      best_cost = cost;
      best = splits;
    }
  }
  return best;
}

inline SplitPlan plan_splits(const HopperAttention& a, int multiprocessors) {
  const int keys = keys_of_tile(wide_columns_of(a));
  SplitPlan plan;
  plan.query_tiles = static_cast<int>((a.queries + kQueriesOfTile - 1) / kQueriesOfTile);
  plan.tiles = static_cast<int>((a.keys + keys - 1) / keys);
  const int works = static_cast<int>(plan.query_tiles * a.batch);
  const int splits = a.splits > 0 ? a.splits : best_splits(works, plan.tiles, multiprocessors);
  plan.per_split = (plan.tiles + splits - 1) / splits;
  plan.splits = (plan.tiles + plan.per_split - 1) / plan.per_split;
  return plan;
}

}  // namespace perceiver::hopper
