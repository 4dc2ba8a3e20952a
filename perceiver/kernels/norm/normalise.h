// Layer normalisation and residual sums over rows, for inference: each row is read once, kept in
// registers and written once. The scale and offset of a normalisation are folded into the product
// behind it, so there are none here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "perceiver/kernels/cuda/dtype.h"

namespace perceiver {

constexpr int64_t kMaxRowChannels = 2048;

// Rows of C channels on the way to rows of P: P >= C, so that a product finds aligned rows.
struct RowShape {
  int64_t rows;           // R
  int64_t channels;       // C, at most kMaxRowChannels
  int64_t stride;         // elements from one row of the input to the next
  int64_t out_stride;     // P: channels C to P - 1 of the output become zero
  bool constant = false;  // channel C becomes 1: it carries what is added to each row's product
  // Channels of an input row that may be read, where they are more than C: with 16 bytes of them at
  // a time the last few belong to nobody.
  int64_t readable = 0;
};

// x [R, C] -> out [R, P], (x - mean) / sqrt(variance + 1e-5). The dtypes are the same, or x is
// float32. All calls return an error instead of launching what they cannot take.
cudaError_t normalise(const RowShape& shape, CudaDtype dtype, const void* x, CudaDtype out_dtype,
                      void* out, cudaStream_t stream);

// z [R, C] += y [R, C], rounded to their dtype; then out [R, P] = normalise(z). Both have `stride`.
// y's rows start again after each `period`.
cudaError_t add_normalise(const RowShape& shape, CudaDtype dtype, void* z, const void* y,
                          int64_t period, CudaDtype out_dtype, void* out, cudaStream_t stream);

// Rows that are made of what is at a place and where the place is: row r, at place m = r % M,
//   x[r] = places[m] + content[r / M, m], or places[m] + content[ids[r]],
// where content has values for the first `content_channels` only.
struct PlacedRows {
  const void* places;  // [M, P], with the output's stride
  int64_t num_places;  // M
  const void* content;
  int64_t content_channels;
  int64_t batch_stride, row_stride, channel_stride;  // of content
  const int64_t* ids = nullptr;                      // [R]
};

// out [R, P] = normalise(x), x rounded to the dtype of all three, which has 16 bits. P is a
// multiple of 8; `stride` is not looked at.
cudaError_t normalise_placed(const RowShape& shape, CudaDtype dtype, const PlacedRows& rows,
                             void* out, cudaStream_t stream);

}  // namespace perceiver
