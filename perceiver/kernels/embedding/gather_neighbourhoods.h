// The neighbourhoods of pixels as rows of a product, for elements of 16 bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

struct Neighbourhoods {
  const uint16_t* pictures;  // [B, n, 3, H, W], n of them side by side: 1 or 2
  int64_t batch, num_pictures, height, width;
  int64_t size;  // of a neighbourhood: 1 or 3
};

// -> out [B, H*W, P]: picture, row, column, colour, zeros outside; P is their number filled up with
// zeros to a multiple of 8. Returns an error instead of launching what it cannot take.
cudaError_t gather_neighbourhoods(const Neighbourhoods& n, uint16_t* out, cudaStream_t stream);

}  // namespace perceiver
