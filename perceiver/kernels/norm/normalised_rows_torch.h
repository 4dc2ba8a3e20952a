// The kernels of normalise.h as functions of tensors. In a program built without them they refuse.
#pragma once

#include "perceiver/kernels/norm/normalised_rows.h"

namespace perceiver {

// Whether rows of x can be normalised into `dtype`.
bool cuda_rows_take(const Tensor& x, at::ScalarType dtype);
Tensor cuda_normalised(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant);
AddedRows cuda_add_normalised(const Tensor& x, const Tensor& y);
bool cuda_placed_rows_take(const PlacedArray& rows);
Tensor cuda_normalised_placed(const PlacedArray& rows);

}  // namespace perceiver
