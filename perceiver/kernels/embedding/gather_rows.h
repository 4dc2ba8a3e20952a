// Rows that are looked up: sums of a vector by id and one by place, scaled and shifted.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "perceiver/kernels/cuda/dtype.h"

namespace perceiver {

// out[b, m] = scales[id, m] (of_ids[id] + of_places[m]) + bias, id = ids[b, m]
struct LookUp {
  int64_t batch, length;           // B, m: elements
  int64_t channels;                // K
  const void *of_ids, *of_places;  // [V, K], [M, K], M at least m
  const float* scales;             // [V, M]
  int64_t num_places;              // M
  const float* bias;               // [K]
  const int64_t* ids;              // [B, m], in [0, V)
  void* out;                       // [B, m, K]
};

// The dtypes are the same, or tables are float32.
cudaError_t look_up(const LookUp& rows, CudaDtype tables, CudaDtype out, cudaStream_t stream);

}  // namespace perceiver
