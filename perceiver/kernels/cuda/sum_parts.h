#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// parts [count, width] -> sums [width], in a fixed order
struct PartSums {
  const float* parts = nullptr;
  int64_t count = 0, width = 0;
  float* sums = nullptr;
};

// Both in one launch, where there is something else.
void sum_parts(const PartSums& sums, cudaStream_t stream, const PartSums& also = {});

}  // namespace perceiver
