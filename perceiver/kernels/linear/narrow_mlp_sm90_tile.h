// Sizes of narrow_mlp_hopper and how its weights lie, packed and in shared memory: pure numbers,
// each with its reason.
#pragma once

#include <cstdint>

#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/linear/product_limits.h"

namespace perceiver::hopper {

// A thread has eight neighbouring channels of each 32, which are two steps of the product's inner
// dimension. The last eight channels are half a step; the other half makes up for LayerNorm.
constexpr int kMlpGroups = kMlpChannels / 32, kMlpSteps = 2 * kMlpGroups + 1;
static_assert(kMlpChannels == 32 * kMlpGroups + 8);

// Hidden channels are computed in three parts: two parts' sums and the row fit a thread's
// registers, so that one part goes through GELU while the next one is multiplied.
constexpr int kMlpParts = 3;
__host__ __device__ constexpr int first_of_part(int part) { return 112 * part; }
__host__ __device__ constexpr int width_of_part(int part) { return part < 2 ? 112 : 104; }
__host__ __device__ constexpr int part_of(int hidden) { return hidden / 112; }
static_assert(first_of_part(2) + width_of_part(2) == kMlpHidden);

// Weights of a part: pieces of eight channels, 16 bytes, of eight hidden channels follow each other
// (PTX: a core matrix), then come the next eight hidden channels, then the next channels.
constexpr int kMlpPieces = 2 * kMlpSteps;
constexpr uint32_t kMlpRow = 16 * kMlpPieces;
__host__ __device__ constexpr uint32_t piece_column_bytes(int part) {
  return width_of_part(part) * 16;
}
__host__ __device__ constexpr uint32_t part_at(int part) { return first_of_part(part) * kMlpRow; }
__host__ __device__ constexpr uint32_t part_bytes(int part) {
  return width_of_part(part) * kMlpRow;
}
constexpr uint32_t kMlpWeightBytes = kMlpHidden * kMlpRow;

// The channel that is element `i` of a piece. Of 32 channels thread j of a row's quad holds 8 j and
// the next seven, by twos; twos with the same number in the four threads are a piece.
__host__ __device__ constexpr int channel_of(int piece, int i) {
  if (piece / 4 == kMlpGroups) return 8 * piece + i;
  return piece / 4 * 32 + i / 2 * 8 + piece % 4 * 2 + i % 2;
}

// Behind them the second layer's weights, halved, in float32: of each two hidden channels both for
// every output. Then its biases.
template <int kOutputs>
struct MlpNarrow {
  static constexpr int kFloats = 2 * kOutputs;
  static constexpr uint32_t kAt = kMlpWeightBytes, kBiasAt = kAt + kMlpHidden / 2 * 4 * kFloats;
  static constexpr uint32_t kEnd = kBiasAt + (4 * kOutputs + 15) / 16 * 16;
};

constexpr int outputs_of_kernel(int64_t out) { return out <= 2 ? 2 : kMostMlpOutputs; }

// Two warpgroups take turns with the tensor cores, a tile of 64 rows each.
constexpr int kMlpGroupRows = 64, kMlpWarpgroups = 2, kMlpThreads = 128 * kMlpWarpgroups;

// kFull: all but the last eight channels are there and count.
template <typename T, int kOutputChannels, bool kAllChannels>
struct MlpTile {
  using Element = T;
  using Narrow = MlpNarrow<kOutputChannels>;
  static constexpr int kOutputs = kOutputChannels;
  static constexpr bool kFull = kAllChannels;
  static constexpr uint32_t kBarriersAt = Narrow::kEnd;
  static constexpr uint32_t kSharedBytes = kBarriersAt + 8 * kMlpParts;
  static_assert(kSharedBytes <= kMostSharedOfHopper);
};

}  // namespace perceiver::hopper
