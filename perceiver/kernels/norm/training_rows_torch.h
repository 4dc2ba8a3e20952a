// The kernels of training_kernels.h as functions of tensors. In a program built without them they
// refuse.
#pragma once

#include "perceiver/kernels/norm/training_rows.h"

namespace perceiver {

bool cuda_training_rows_take(const Tensor& x, at::ScalarType dtype);
NormedRows cuda_layer_norm_rows(const RowTerms& terms, const Tensor& scale, const Tensor& offset,
                                int64_t padded);
NormGradients cuda_layer_norm_rows_gradient(const Tensor& gradient, const NormedRows& rows,
                                            const Tensor& scale, const Tensor& passed,
                                            WantedRows wanted, const RowSum& also);
Tensor cuda_added_rows(const RowTerms& terms);
SummedRows cuda_narrowed_rows(const Tensor& x, int64_t padded);
Tensor cuda_copy_and_sum(const Tensor& x, const Tensor& out);
RowSum cuda_sum_later(const Tensor& x);
RowsToSum cuda_gelu_rows_gradient(const Tensor& gradient, const Tensor& at, bool tanh);

}  // namespace perceiver
