// Sizes of attention_narrow, where things lie in shared memory, and as operands of the warpgroup's
// products. For .cu files only.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_maps.h"
#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/tma.h"

namespace perceiver::narrow {

// Four warpgroups are all that a multiprocessor's registers hold at 128 a thread. No warp is left
// over to fetch: a thread of the first does it between its products.
inline constexpr int kWarpgroups = 4, kThreads = 128 * kWarpgroups;
inline constexpr int kGroupQueries = 64;
static_assert(kBlockQueries == kWarpgroups * kGroupQueries);

// Keys come 128 at a time.
inline constexpr int kTileKeys = 128;

// Rows have their 16-byte pieces exchanged as the copy engine writes them: PTX's 64-byte or
// 128-byte swizzle. Two buffers of queries for each warpgroup, then the ring, a tile of keys and
// one of values in each stage, then the ones (below).
template <typename T, int C>
struct NarrowTile {
  static_assert(C == 32 || C == 64);
  using Element = T;
  static constexpr int kChannels = C, kStages = C == 32 ? 8 : 4;
  // Scores are computed for so many keys at once, twice: the next while these become weights.
  static constexpr int kStepKeys = C == 32 ? 64 : 32;
  static constexpr uint32_t kRow = 2 * C;
  static constexpr uint32_t kQueryBytes = kGroupQueries * kRow, kKeyBytes = kTileKeys * kRow;
  static constexpr uint32_t kRingAt = 2 * kWarpgroups * kQueryBytes;
  static constexpr uint32_t kOnesAt = kRingAt + kStages * 2 * kKeyBytes;
  static constexpr uint32_t kTailAt = kOnesAt + 16 * kRow;
  static constexpr uint32_t kBarriersAt = kTailAt + kKeyBytes;
  static constexpr uint32_t kWorksAt = kBarriersAt + 8 * (2 * kStages + 2 * kWarpgroups);
  static constexpr uint32_t kBytes = kWorksAt + 4 * 16;
};

// Where a block stands in the ring; its phase turns over with each round. The place is in units of
// 16 bytes, as descriptors count.
template <class Tile>
struct NarrowPlace {
  static constexpr uint32_t kStage = 2 * Tile::kKeyBytes >> 4;
  uint32_t at = 0, phase = 0;

  __device__ __forceinline__ NarrowPlace behind(uint32_t tiles) const {
    const uint32_t sum = at + tiles * kStage;
    return {sum % (Tile::kStages * kStage), phase ^ (sum >= Tile::kStages * kStage)};
  }
};

// Addresses. A stage of the ring is `full` when its tile is there and `empty` when no warp needs
// it.
template <class Tile>
struct NarrowLayout {
  using Place = NarrowPlace<Tile>;
  uint32_t base;
  int4* works;  // example, head and first query of the last few rounds and the next

  __device__ uint32_t queries(int group, uint32_t round) const {
    return base + (2 * group + round % 2) * Tile::kQueryBytes;
  }
  __device__ uint32_t keys(const Place& p) const { return base + Tile::kRingAt + (p.at << 4); }
  __device__ uint32_t values(const Place& p) const { return keys(p) + Tile::kKeyBytes; }
  __device__ uint32_t full(const Place& p) const {
    return base + Tile::kBarriersAt + p.at / (Place::kStage / 8);
  }
  __device__ uint32_t empty(const Place& p) const { return full(p) + 8 * Tile::kStages; }
  __device__ uint32_t queries_full(int group, uint32_t round) const {
    return base + Tile::kBarriersAt + 8 * (2 * Tile::kStages + 2 * group + round % 2);
  }
  __device__ int4& work(uint32_t round) const { return works[round % 4]; }
};

// A descriptor's upper half: swizzle, and eight rows from one block of rows to the next.
template <class Tile>
__device__ __forceinline__ uint64_t operand(uint32_t low) {
  constexpr uint64_t kSwizzle = Tile::kChannels == 64 ? 1 : 2;
  return kSwizzle << 62 | static_cast<uint64_t>(8 * Tile::kRow >> 4) << 32 | low;
}

// Rows along the outer dimension of a product: sixteen channels from 16 `step` on. `low` as
// rows_low() gives it.
__device__ __forceinline__ uint32_t rows_low(uint32_t start) { return start >> 4 | 1u << 16; }

template <class Tile>
__device__ __forceinline__ uint64_t rows_at(uint32_t low, int step) {
  return operand<Tile>(low + 2 * step);
}

// Values, with eight channels more which are ones, so that the product adds up the weights, too.
// They are the same few rows for all tiles: a descriptor says how far the next channels are. In the
// last tile, where keys may be missing, they are rows of their own, with zeros at the end.
template <class Tile>
struct ValueRows {
  uint32_t low, step;

  __device__ __forceinline__ ValueRows(const NarrowLayout<Tile>& shared, const NarrowPlace<Tile>& p,
                                       bool is_tail) {
    constexpr uint32_t kValuesAt = Tile::kRingAt + Tile::kKeyBytes, kRows = 16 * Tile::kRow >> 4;
    const uint32_t ones = (is_tail ? Tile::kTailAt : Tile::kOnesAt) - kValuesAt;
    low = (shared.base + kValuesAt) / 16 + p.at + (ones / 16 - p.at) * 65536;
    step = is_tail ? kRows : kRows - (kRows << 16);
  }
  // Sixteen keys.
  __device__ __forceinline__ uint64_t operator[](int i) const {
    return operand<Tile>(low + i * step);
  }
};

// Whether a phase is over, without waiting: the answer takes a while to come.
__device__ __forceinline__ uint32_t barrier_test(uint32_t barrier, uint32_t phase) {
  uint32_t over;
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 over, [%1], %2;\n"
      "selp.u32 %0, 1, 0, over;\n"
      "}\n"
      : "=r"(over)
      : "r"(barrier), "r"(phase)
      : "memory");
  return over;
}

}  // namespace perceiver::narrow
