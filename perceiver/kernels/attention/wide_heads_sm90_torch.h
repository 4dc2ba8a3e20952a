// The kernel of wide_heads_sm90.h as a function of tensors, whose rows start on 16 bytes. In a
// program built without it, it refuses.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// kv_mask [B, M] or undefined -> [B, N, V rounded up to 8]; where `log_sum` is given it becomes
// the log_sum of AttentionResult (backward.h), [B, N].
Tensor cuda_attend_hopper(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                          double scale, Tensor* log_sum);
// The same into rows of `out` [B, N, V rounded up to 8], which are on 16 bytes.
void cuda_attend_hopper_into(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                             const Tensor& kv_mask, double scale, Tensor* log_sum);

}  // namespace perceiver
