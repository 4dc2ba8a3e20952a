// How the list of an optimiser lies on the device; for optimizer_step.cu and parameter_table.cpp
// only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// Elements that one block works on. Small enough that 201 million parameters are twenty waves of
// blocks, large enough that the sums' barriers are lost in the loads.
constexpr int kFusedChunk = 8192;

// The blocks of LAMB (lamb_step.h): threads that compute, packs of four elements that each has
// of an item, how many items ahead they load, and blocks a multiprocessor.
constexpr int kLambThreads = 256, kLambPacks = 1, kLambAhead = 1, kLambBlocks = 3;
constexpr int kLambItem = kLambThreads * kLambPacks * 4;

struct FusedEntry {
  float *value, *first, *second;
  int64_t count;
  uint16_t* narrow;         // null: none is wanted
  int64_t narrow_channels;  // 0: as the value lies
  int64_t narrow_stride;
  int first_item, num_items;
  bool decayed;
  bool kept;  // between LAMB's two passes, on the chip
};

struct FusedChunk {
  int tensor, index;  // elements index * kFusedChunk on, or kLambItem
};

// Sums of squares over an item, there when `step` is the running one's.
struct alignas(16) FusedSums {
  float gradients, values, updates;
  uint32_t step;
};

// LAMB's ratio of a tensor, likewise.
struct alignas(8) FusedRatio {
  float ratio;
  uint32_t step;
};

// How many blocks of LAMB this device runs at once, and how many items each can keep.
struct LambRoom {
  int blocks, slots;
};
cudaError_t lamb_room(LambRoom* room);

}  // namespace perceiver
