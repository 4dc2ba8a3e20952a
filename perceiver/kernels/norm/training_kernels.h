// What a training pass does between its matrix products, row by row: layer normalisation with its
// statistics kept, its gradients, and gradients of biases as sums over rows. Products take and give
// bfloat16 here; what is summed along the layers is float32 or bfloat16, as it comes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "perceiver/kernels/cuda/dtype.h"
#include "perceiver/kernels/cuda/sum_parts.h"

namespace perceiver {

constexpr int64_t kMaxTrainingChannels = 4096;

// out [R, P] = scale * (z - mean) / sqrt(variance + 1e-5) + offset in bfloat16, zeros behind the
// channels; z is x, or x + y + bias rounded to x's dtype and stored as `sum`.
struct LayerNormPass {
  int64_t rows, channels;   // R, C: at most kMaxTrainingChannels
  CudaDtype dtype;          // of x and sum: float32 or bfloat16
  const void* x;            // [R', C], R' rows that repeat
  int64_t x_rows;           // R': R where they do not
  int64_t x_stride;         // elements from one row to the next
  const void* y = nullptr;  // [R, C], bfloat16; null: nothing is added
  int64_t y_stride = 0;
  const float* bias = nullptr;  // [C]; null: nothing more is added
  void* sum = nullptr;          // [R, C], without gaps; where there is y
  const float *scale, *offset;
  void* out;
  int64_t out_stride;  // P
  float *mean, *rstd;  // [R]
};
cudaError_t layer_norm(const LayerNormPass& pass, cudaStream_t stream);

// The gradient of z, [R, C] without gaps, from that of out; `passed` is what reaches z past the
// norm. sums [3, C]: the gradients of scale and offset, and the new gradient's sum over rows.
struct LayerNormGradient {
  int64_t rows, channels;
  CudaDtype dtype;       // of z, passed and dz
  const void* gradient;  // [R, C], bfloat16
  int64_t gradient_stride;
  const void* z;  // [R, C]
  int64_t z_stride;
  const float *mean, *rstd, *scale;
  const void* passed = nullptr;  // [R, C] without gaps; null: nothing
  void* dz = nullptr;            // null: only the sums are wanted
  void* narrow = nullptr;        // [R, P]: dz in bfloat16, zeros behind the channels; null: not
  int64_t narrow_stride = 0;     // P
  float* sums;
  float* workspace;    // of layer_norm_gradient_workspace() floats
  PartSums also = {};  // made in the same launch as `sums`: what columns() has left
};
int64_t layer_norm_gradient_workspace(int64_t channels);
cudaError_t layer_norm_gradient(const LayerNormGradient& pass, cudaStream_t stream);

// out [R, C] = x + y + bias, without gaps and in x's dtype.
struct AddedPass {
  int64_t rows, channels;
  CudaDtype dtype;  // float32 or bfloat16
  const void* x;
  int64_t x_stride;
  const void* y;  // bfloat16
  int64_t y_stride;
  const float* bias;  // [C]; null: none
  void* out;
};
cudaError_t add_rows(const AddedPass& pass, cudaStream_t stream);

// out [R, P] in bfloat16, zeros behind the channels, and its sum over rows [C].
enum class ColumnOperation : uint8_t {
  kCopy,
  kGeluTanh,  // x times the derivative at `at`
  kGeluErf,
};
struct ColumnPass {
  ColumnOperation operation = ColumnOperation::kCopy;
  int64_t rows = 0, channels = 0;
  CudaDtype dtype = CudaDtype::kBFloat16;  // of x: float32 or bfloat16
  const void* x = nullptr;                 // [R, C]
  int64_t x_stride = 0;
  const void* at = nullptr;  // [R, C], bfloat16: what GELU was applied to
  int64_t at_stride = 0;
  void* out = nullptr;  // may be x
  int64_t out_stride = 0;
  int64_t padded = 0;  // P
  float* sums = nullptr;
  float* workspace = nullptr;  // of column_workspace() floats
  PartSums* left = nullptr;    // where to say how the sums are made, which then are left; null: not
};
int64_t column_workspace(int64_t channels);
cudaError_t columns(const ColumnPass& pass, cudaStream_t stream);

}  // namespace perceiver
