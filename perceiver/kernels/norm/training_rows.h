// What a training pass does between its matrix products, forward and backward, over rows [R, C]: by
// kernels of our own on a GPU that has them, by LibTorch's operations otherwise.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// What a row can have for those kernels.
constexpr int64_t kMostTrainingChannels = 4096;

// Whether rows of x can be taken by kernels of our own, on the way to and from products in `dtype`.
bool training_rows_are_fused(const Tensor& x, at::ScalarType dtype);

// x [R, C] + y [R, at least C] + bias [C], in x's dtype; without y it is x. x may have fewer rows
// than y for layer_norm_rows(): then they repeat.
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

// A sum over rows [C], float32 or wider. Perhaps it is not made yet: then its parts are there, for
// layer_norm_rows_gradient() to add up in a launch that it needs anyway.
struct RowSum {
  Tensor sum;
  Tensor parts = {};  // undefined: it is made
  int64_t count = 0;  // of them
};

// Of layer_norm_rows().
struct NormGradients {
  Tensor z = {};                   // [R, C], and what was passed by; undefined where not wanted
  Tensor narrow = {};              // [R, P]: the same in the products' dtype
  Tensor sum = {};                 // [C]: the same, summed over rows
  Tensor scale = {}, offset = {};  // [C]
};
enum class WantedRows { kNone, kWide, kBoth };  // z and sum; narrow too
// gradient [R, P] of `normed`, passed [R, C] of z or undefined. `also` is made if it is not.
NormGradients layer_norm_rows_gradient(const Tensor& gradient, const NormedRows& rows,
                                       const Tensor& scale, const Tensor& passed, WantedRows wanted,
                                       const RowSum& also = {});

Tensor added_rows(const RowTerms& terms);  // [R, C]

struct SummedRows {
  Tensor rows;  // [R, P], zeros behind the channels
  Tensor sum;   // [C], float32 or wider
};
SummedRows narrowed_rows(const Tensor& x, at::ScalarType dtype, int64_t padded);

// x [R, C] copied to `out` [R, C], perhaps some columns of a wider array -> its sum over rows [C]
Tensor copy_and_sum(const Tensor& x, const Tensor& out);
RowSum sum_later(const Tensor& x);  // of rows that stay where they are

// The gradient of GELU's argument `at` [R, C] from that of its result.
struct RowsToSum {
  Tensor rows;
  RowSum sum;
};
RowsToSum gelu_rows_gradient(const Tensor& gradient, const Tensor& at, bool tanh);

}  // namespace perceiver
