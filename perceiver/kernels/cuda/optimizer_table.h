// How the list of an optimiser lies on the device; for optimizer.cu and optimizer_table.cpp only.
#pragma once

#include <cstdint>

namespace perceiver {

// Elements that one block works on. Small enough that 201 million parameters are twenty waves of
// blocks, large enough that the sums' barriers are lost in the loads.
constexpr int kFusedChunk = 8192;

struct FusedEntry {
  float *value, *first, *second;
  int64_t count;
  int first_chunk, num_chunks;
  bool decayed;
};

struct FusedChunk {
  int tensor, index;  // elements index * kFusedChunk on
};

}  // namespace perceiver
