// Our CUDA kernels as functions of tensors. In a program built without them they refuse.
#pragma once

#include <string>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/wide_attention.h"

namespace perceiver {

// Why the kernel of wide heads cannot take q [B, N, F], k [B, M, F], v [B, M, F]; empty when it
// can.
std::string cuda_hopper_refusal(const Tensor& q, const Tensor& k, const Tensor& v);

// kv_mask [B, M] or undefined -> [B, N, F rounded up to 8]; where `log_sum` is given it becomes
// [B, N], float32.
Tensor cuda_attend_hopper(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                          double scale, Tensor* log_sum);

// Whether rows of x can be normalised into `dtype`.
bool cuda_rows_take(const Tensor& x, at::ScalarType dtype);
Tensor cuda_normalised(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant);
AddedRows cuda_add_normalised(const Tensor& x, const Tensor& y);

}  // namespace perceiver
