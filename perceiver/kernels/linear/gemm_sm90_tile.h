// Sizes of product_hopper: pure numbers, each with its reason.
#pragma once

#include <cstdint>

#include "perceiver/kernels/cuda/device.h"

namespace perceiver::hopper {

// Channels that a stage of the ring holds: rows of 128 bytes, the widest swizzle.
constexpr int kStageChannels = 64;
constexpr uint32_t kStageRow = 128;

// What happens to a result. Each is a kernel of its own: in one with all of them the code for it
// would not fit the instruction cache.
enum class Finish : uint8_t { kNormed, kNormedGelu, kAdded };

// A tile of the result is a block's; each of its warpgroups has 64 rows. The ring is as long as
// shared memory allows: of small tiles nearly all stages are on their way at once.
template <typename T, int kTileRows, int kTileColumns, int kRingStages>
struct ProductTile {
  using Element = T;
  static constexpr int kRows = kTileRows, kColumns = kTileColumns, kStages = kRingStages;
  static constexpr int kGroups = kRows / 64;
  static constexpr int kThreads = 128 * (kGroups + 1);  // one warpgroup fetches

  static constexpr uint32_t kXBytes = kRows * kStageRow, kWeightBytes = kColumns * kStageRow;
  static constexpr uint32_t kStageBytes = kXBytes + kWeightBytes;

  // A warpgroup's rows on their way in (the residual) and out, in boxes of some columns. Eight rows
  // are to be in different banks: of 40 columns they are, of 32 with their four pieces
  // exchanged (PTX: 64-byte swizzle).
  static constexpr int kBoxColumns = kColumns % 32 == 0 ? 32 : kColumns;
  static constexpr int kBoxes = kColumns / kBoxColumns;
  static constexpr bool kExchanged = kBoxColumns == 32;
  static constexpr uint32_t kResultRow = 2 * kBoxColumns, kBoxBytes = 64 * kResultRow;
  static constexpr uint32_t kResultBytes = kBoxes * kBoxBytes;

  static constexpr uint32_t kResultsAt = kStages * kStageBytes;
  static constexpr uint32_t kColumnsAt = kResultsAt + kGroups * kResultBytes;
  static constexpr uint32_t kNormsAt = kColumnsAt + kColumns * 8;
  static constexpr uint32_t kBarriersAt = kNormsAt + kRows * 8;
  static constexpr uint32_t kSharedBytes = kBarriersAt + 8 * (2 * kStages + kGroups);

  static_assert(kRows % 64 == 0 && (kExchanged || kColumns == 40));
  static_assert(kStageBytes % 1024 == 0, "where the swizzle repeats");
  static_assert(kSharedBytes <= kMostSharedOfHopper);
};

}  // namespace perceiver::hopper
