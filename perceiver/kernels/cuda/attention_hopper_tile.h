// Sizes of the tiles of attention_hopper: pure numbers, each with its reason.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// Channels are kept in shared memory as columns of 64 (rows of 128 bytes, the widest swizzle) and,
// for the rest, of 16 (rows of 32 bytes): the product P V takes columns of one kind at a time.
template <typename T, int kWideColumns, int kNarrowColumns, int kValueChannels, int kKeysOfTile,
          int kStagesOfRing, bool kKeysAreValues, bool kSoftmaxBesideProduct,
          bool kWarpgroupsTakeTurns>
struct HopperTile {
  using Element = T;
  static constexpr int kWide = kWideColumns;
  static constexpr int kNarrow = kNarrowColumns;
  static constexpr int kChannels = 64 * kWide + 16 * kNarrow;
  // The product P V takes channels by eights, Q K^T by sixteens: its last eight may be padding.
  static constexpr int kValues = kValueChannels;
  static constexpr int kNarrowValues = kValues - 64 * kWide;

  // A warpgroup's product has 64 rows, and two warpgroups share each tile of keys. A third would
  // leave too few registers for the sums: kValues / 2 in each thread.
  static constexpr int kGroups = 2;
  static constexpr int kQueries = 64 * kGroups;
  // The warp that fetches has a warpgroup of its own: registers are given out by quarters of a
  // multiprocessor, 16384 in each, and three warps in a quarter start with at most 168.
  static constexpr int kThreads = 128 * (kGroups + 1);
  static constexpr int kEntryRegisters = 168;
  static constexpr int kConsumerRegisters = 240;
  static constexpr int kProducerRegisters = 24;

  static constexpr int kKeys = kKeysOfTile;
  static constexpr int kStages = kStagesOfRing;
  static constexpr bool kShared = kKeysAreValues;
  static constexpr bool kOverlap = kSoftmaxBesideProduct;
  static constexpr bool kTurns = kWarpgroupsTakeTurns;

  static constexpr uint32_t kWideRow = 128, kNarrowRow = 32;
  static constexpr uint32_t kQueryWide = kQueries * kWideRow;      // bytes of one column
  static constexpr uint32_t kQueryNarrow = kQueries * kNarrowRow;  // likewise
  static constexpr uint32_t kQueryBytes = kWide * kQueryWide + kNarrow * kQueryNarrow;
  static constexpr uint32_t kKeyWide = kKeys * kWideRow;
  static constexpr uint32_t kKeyNarrow = kKeys * kNarrowRow;
  static constexpr uint32_t kTileBytes = kWide * kKeyWide + kNarrow * kKeyNarrow;

  // One bit a key of a tile: there is an element.
  static constexpr int kMaskWords = (kKeys + 31) / 32;

  static constexpr uint32_t kTilesAt = kQueryBytes;
  static constexpr uint32_t kTileStep = (kTileBytes + 1023) / 1024 * 1024;
  static constexpr uint32_t kBarriersAt = kTilesAt + kStages * kTileStep;
  static constexpr uint32_t kMaskAt = kBarriersAt + 8 * (2 * kStages + 2);
  static constexpr uint32_t kSharedBytes = kMaskAt + 4 * kMaskWords * kStages;

  static_assert(kQueryBytes % 1024 == 0 && kKeyWide % 1024 == 0, "the swizzle repeats at 1024");
  static_assert(kKeyNarrow % 256 == 0, "the narrow swizzle repeats at 256");
  static_assert(kKeys % 16 == 0 && kNarrowValues % 8 == 0 && kValues <= kChannels);
  static_assert(kSharedBytes <= 232448, "more shared memory than a block can have");
  static_assert(kValues / 2 + kKeys / 2 + (kOverlap ? kKeys / 4 : 0) <= 216, "registers");
};

// The sizes in use: ImageNet's pixels with Fourier features have 261 channels, optical flow's
// patches and ImageNet's convolved pixels 322. Tiles are as large as registers and shared memory
// allow.
template <typename T, bool kShared>
using HopperTile264 = HopperTile<T, 3, 5, 264, 96, 3, kShared, true, true>;
template <typename T, bool kShared>
using HopperTile328 = HopperTile<T, 4, 5, 328, 64, 3, kShared, true, true>;

// What the kernel is told. Maps of q have boxes of kQueries rows, those of k and v of kKeys.
struct HopperArguments {
  CUtensorMap q_wide, q_narrow, k_wide, k_narrow, v_wide, v_narrow;
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

}  // namespace perceiver
