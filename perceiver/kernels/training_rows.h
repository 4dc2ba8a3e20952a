// What a training pass does between its matrix products, forward and backward, over rows [R, C]: by
// kernels of our own on a GPU that has them, by LibTorch's operations otherwise.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// Whether rows of x can be taken by kernels of our own, on the way to and from products in `dtype`.
bool training_rows_are_fused(const Tensor& x, at::ScalarType dtype);

// x [R, C] + y [R, at least C] + bias [C], in x's dtype; without y it is x
struct RowTerms {
  Tensor x, y = {}, bias = {};
};

struct NormedRows {
  Tensor z;           // [R, C]: the sum of the terms
  Tensor normed;      // [R, P], zeros behind the channels
  Tensor mean, rstd;  // [R]
};
// Rows of the sum normalised in `dtype`; scale [C], offset [C]
NormedRows layer_norm_rows(const RowTerms& terms, const Tensor& scale, const Tensor& offset,
                           at::ScalarType dtype, int64_t padded);

// Of layer_norm_rows().
struct NormGradients {
  Tensor z = {};                   // [R, C], and what was passed by; undefined where not wanted
  Tensor narrow = {};              // [R, P]: the same in the products' dtype
  Tensor sum = {};                 // [C]: the same, summed over rows
  Tensor scale = {}, offset = {};  // [C]
};
enum class WantedRows { kNone, kWide, kBoth };  // z and sum; narrow too
// gradient [R, P] of `normed`, passed [R, C] of z or undefined
NormGradients layer_norm_rows_gradient(const Tensor& gradient, const NormedRows& rows,
                                       const Tensor& scale, const Tensor& passed,
                                       WantedRows wanted);

Tensor added_rows(const RowTerms& terms);  // [R, C]

struct SummedRows {
  Tensor rows;  // [R, P], zeros behind the channels
  Tensor sum;   // [C], float32 or wider
};
SummedRows narrowed_rows(const Tensor& x, at::ScalarType dtype, int64_t padded);

// x [R, C] copied to `out` [R, C], perhaps some columns of a wider array -> its sum over rows [C]
Tensor copy_and_sum(const Tensor& x, const Tensor& out);

// The gradient of GELU's argument `at` [R, C] from that of its result.
SummedRows gelu_rows_gradient(const Tensor& gradient, const Tensor& at, bool tanh);

}  // namespace perceiver
