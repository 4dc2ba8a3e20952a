// Sizes of the tiles of attention_hopper: pure numbers, each with its reason.
#pragma once

#include <cstdint>

#include "perceiver/kernels/cuda/device.h"

namespace perceiver::hopper {

// Channels lie in shared memory as columns of 64 (rows of 128 bytes, the widest swizzle) and, for
// the rest, five of 16 (rows of 32 bytes): a product takes columns of one kind at a time. Q K^T
// takes channels by sixteens, the last eight are zeros; P V by eights, and does without them to
// save registers.
constexpr int kNarrowColumns = 5, kNarrowValues = 72;

// ImageNet's pixels with Fourier features have 261 channels (264 fit three wide columns), optical
// flow's patches and ImageNet's convolved pixels 322 (328 fit four).
constexpr int values_of(int wide_columns) { return 64 * wide_columns + kNarrowValues; }
constexpr int kMostChannels = values_of(4);
constexpr int wide_columns_for(int64_t channels) { return channels <= values_of(3) ? 3 : 4; }

// As many as registers and shared memory allow.
constexpr int keys_of_tile(int wide_columns) { return wide_columns == 3 ? 96 : 64; }

// A warpgroup's product has 64 rows, and two warpgroups share each tile of keys. A third would
// leave too few registers for the sums: kValues / 2 in each thread.
constexpr int kWarpgroups = 2;
constexpr int kQueriesOfTile = 64 * kWarpgroups;

// The warp that fetches has a warpgroup of its own: registers are given out by quarters of a
// multiprocessor, 16384 in each, and three warps in a quarter start with at most 168.
constexpr int kThreads = 128 * (kWarpgroups + 1);
constexpr int kEntryRegisters = 168, kComputingRegisters = 240, kFetchingRegisters = 24;

constexpr uint32_t kWideRow = 128, kNarrowRow = 32;  // bytes of a row in a column

// Blocks may come in pairs, with neighbouring tiles of queries: of the keys and values that both
// need each fetches one half, for both.
template <typename T, int kWideColumns, bool kSame, bool kInPairs>
struct AttentionTile {
  using Element = T;
  static constexpr bool kKeysAreValues = kSame, kPaired = kInPairs;
  static constexpr int kWide = kWideColumns;
  static constexpr int kValues = values_of(kWide);
  static constexpr int kKeys = keys_of_tile(kWide);
  static constexpr int kFetchedKeys = kPaired ? kKeys / 2 : kKeys;
  static constexpr int kStages = 3;  // of the ring of tiles; a fourth does not fit

  // Bytes of one column, and of all of them.
  static constexpr uint32_t kQueryWide = kQueriesOfTile * kWideRow;
  static constexpr uint32_t kQueryNarrow = kQueriesOfTile * kNarrowRow;
  static constexpr uint32_t kQueryBytes = kWide * kQueryWide + kNarrowColumns * kQueryNarrow;
  static constexpr uint32_t kKeyWide = kKeys * kWideRow;
  static constexpr uint32_t kKeyNarrow = kKeys * kNarrowRow;
  static constexpr uint32_t kTileBytes = kWide * kKeyWide + kNarrowColumns * kKeyNarrow;

  static constexpr int kMaskWords = kKeys / 32;  // a bit a key: there is an element

  static constexpr uint32_t kTilesAt = kQueryBytes;
  static constexpr uint32_t kBarriersAt = kTilesAt + kStages * kTileBytes;
  static constexpr uint32_t kMaskAt = kBarriersAt + 8 * (2 * kStages + 2);
  static constexpr uint32_t kSharedBytes = kMaskAt + 4 * kMaskWords * kStages;

  static_assert(kQueryWide % 1024 == 0 && kKeyWide % 1024 == 0, "the wide swizzle repeats at 1024");
  static_assert(kQueryBytes % 1024 == 0 && kTileBytes % 1024 == 0, "and tiles start there");
  static_assert(kQueryNarrow % 256 == 0 && kKeyNarrow % 256 == 0, "the narrow one repeats at 256");
  static_assert(kFetchedKeys * kWideRow % 1024 == 0 && kFetchedKeys * kNarrowRow % 256 == 0);
  static_assert(kKeys % 32 == 0 && kSharedBytes <= kMostSharedOfHopper);
  static_assert(kValues / 2 + kKeys / 2 + kKeys / 4 <= 216,
                "sums, scores and weights in registers");
};

}  // namespace perceiver::hopper
