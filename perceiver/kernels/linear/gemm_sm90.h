// Products of rows with a weight where launches and passes over rows would be much of the time:
// what happens before and after a product rides with it, LayerNorm too. For Hopper.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// Mean and sum of squared differences from it, of some of a row's channels.
struct Moments {
  float mean, squares;
};

// The moments of every row's parts [M, parts]; a part has `width` channels but for the last.
struct RowMoments {
  Moments* data = nullptr;
  int parts = 0, width = 0;
};

// One of two. Rows normalised on their way in, by moments of x: LayerNorm(x) weight^T + bias
// without scale and offset, and perhaps GELU; x itself is multiplied, and what mean and deviation
// change is made up for with column_sums. Or rows added to a residual: x weight^T + bias +
// residual, and the result's moments.
struct HopperProduct {
  bool bfloat16;          // else float16
  int64_t rows, in, out;  // M, K, N; K and N multiples of 8
  const void* x;          // [M, K]; rows of all arrays start at multiples of 16 bytes
  int64_t x_stride;
  // These and column_sums are read before the kernel before this one is done.
  const void* weight;  // [N, K]
  const void* bias;    // [N]

  RowMoments x_moments = {};           // over `x_channels`
  int64_t x_channels = 0;              // of K, that are not padding
  const float* column_sums = nullptr;  // [N]: of weight's rows
  bool gelu = false;                   // the tanh form

  const void* residual = nullptr;  // [M, N]
  int64_t residual_stride = 0;
  RowMoments result_moments = {};
  int64_t result_channels = 0;  // of N, that are not padding; the others must come out as zeros

  void* result;  // [M, N]
  int64_t result_stride;
};

// Sizes of the tiles that a result is cut into, rows x columns.
enum class ProductTiles : uint8_t { k64x40, k64x64, k128x64, k128x192 };
ProductTiles quickest_tiles(int64_t rows, int64_t in, int64_t out);
int columns_of(ProductTiles tiles);

// Moments of the result have parts of columns_of(tiles) channels.
cudaError_t product_hopper(const HopperProduct& product, ProductTiles tiles, cudaStream_t stream);

}  // namespace perceiver
