#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// parts [count, width] -> sums [width], in a fixed order
void sum_parts(const float* parts, int64_t count, int64_t width, float* sums, cudaStream_t stream);

}  // namespace perceiver
