// Sizes of the tiles of attention_hopper: pure numbers, each with its reason.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// Channels are kept in shared memory as columns of 64 (rows of 128 bytes, the widest swizzle) and,
// for the rest, of 16 (rows of 32 bytes): the product P V takes columns of one kind at a time.
template <typename T, int kWideColumns, int kNarrowColumns, int kKeysOfTile, int kStagesOfRing,
          bool kKeysAreValues, int kBlocksOfCluster, bool kWarpgroupsTakeTurns = false,
          bool kSoftmaxBesideProduct = true, int kFetchingWarps = 1>
struct HopperTile {
  using Element = T;
  static constexpr int kWide = kWideColumns;
  static constexpr int kNarrow = kNarrowColumns;
  static constexpr int kChannels = 64 * kWide + 16 * kNarrow;

  // A warpgroup's product has 64 rows, and two warpgroups share each tile of keys. A third would
  // leave too few registers for the sums: kChannels / 2 in each thread.
  static constexpr int kGroups = 2;
  static constexpr int kQueries = 64 * kGroups;
  static constexpr int kThreads = 128 * kGroups + 32 * kFetchingWarps;
  static constexpr int kEntryRegisters = kFetchingWarps == 1 ? 224 : 168;
  static constexpr int kConsumerRegisters = kFetchingWarps == 1 ? 248 : 240;
  static constexpr int kProducerRegisters = 24;

  static constexpr int kKeys = kKeysOfTile;
  static constexpr int kStages = kStagesOfRing;
  static constexpr bool kShared = kKeysAreValues;
  // Blocks of a cluster have neighbouring queries and fetch a part of each tile for all of them.
  static constexpr int kCluster = kBlocksOfCluster;
  static constexpr int kKeysFetched = kKeys / kCluster;
  static constexpr bool kTurns = kWarpgroupsTakeTurns;
  static constexpr bool kOverlap = kSoftmaxBesideProduct;

  static constexpr uint32_t kWideRow = 128, kNarrowRow = 32;
  static constexpr uint32_t kQueryWide = kQueries * kWideRow;      // bytes of one column
  static constexpr uint32_t kQueryNarrow = kQueries * kNarrowRow;  // likewise
  static constexpr uint32_t kQueryBytes = kWide * kQueryWide + kNarrow * kQueryNarrow;
  static constexpr uint32_t kKeyWide = kKeys * kWideRow;
  static constexpr uint32_t kKeyNarrow = kKeys * kNarrowRow;
  static constexpr uint32_t kTileBytes = kWide * kKeyWide + kNarrow * kKeyNarrow;

  // One bit a key of a tile: there is an element.
  static constexpr int kMaskWords = kKeys / 32;

  static constexpr uint32_t kTilesAt = kQueryBytes;
  static constexpr uint32_t kBarriersAt = kTilesAt + kStages * kTileBytes;
  static constexpr uint32_t kMaskAt = kBarriersAt + 8 * (2 * kStages + 2);
  static constexpr uint32_t kSharedBytes = kMaskAt + 4 * kMaskWords * kStages;

  static_assert(kQueryBytes % 1024 == 0 && kTileBytes % 1024 == 0, "the swizzle repeats at 1024");
  static_assert(kKeys % 32 == 0 && kKeysFetched % 8 == 0);
  static_assert(kSharedBytes <= 232448, "more shared memory than a block can have");
  static_assert(kChannels / 2 + kKeys / 2 + kKeys / 4 <= 216, "registers");
};

// What the kernel is told. Maps of q have boxes of kQueries rows, those of k and v of kKeysFetched.
struct HopperArguments {
  CUtensorMap q_wide, q_narrow, k_wide, k_narrow, v_wide, v_narrow;
  void* out;
  float* log_sum_exp;
  float* partial_sums;     // [splits, B, N, F], null when the keys are not split
  float2* partial_totals;  // [splits, B, N]: largest score, sum of weights
  const uint8_t* kv_mask;
  int64_t out_row, out_batch, mask_batch;
  int batch, queries, keys, channels;
  int query_groups;      // kCluster tiles of queries each
  int splits;            // of the keys
  int tiles, per_split;  // tiles of keys in all, and in each split but the last
  float scale_log2;      // scale / log(2)
};

}  // namespace perceiver
