// Our CUDA kernels as functions of tensors. In a program built without them they refuse.
#pragma once

#include <string>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/attention.h"
#include "perceiver/kernels/normalised_rows.h"

namespace perceiver {

constexpr int64_t kMostHopperChannels = 328;  // of keys, and of values, that a wide head may have

// Why the kernel of wide heads cannot take the case; empty when it can. Rows start on 16 bytes.
std::string cuda_hopper_refusal(const AttentionCase& c);

// kv_mask [B, M] or undefined -> [B, N, V rounded up to 8]; where `log_sum` is given it becomes
// [B, N], float32.
Tensor cuda_attend_hopper(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                          double scale, Tensor* log_sum);
// The same into rows of `out` [B, N, V rounded up to 8], which are on 16 bytes.
void cuda_attend_hopper_into(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                             const Tensor& kv_mask, double scale, Tensor* log_sum);

// Scores [B, H, N, M] without gaps, masked by kv_mask [B, M] or not at all; log_sum [B, H, N].
bool cuda_scores_take(const Tensor& scores);
bool cuda_scores_take(at::ScalarType dtype);  // on a GPU
// scores become softmax(scale * scores) -> log_sum
Tensor cuda_softmax(const Tensor& scores, const Tensor& kv_mask, double scale);
// scores become the same again, from their log_sum
void cuda_weights_again(const Tensor& scores, const Tensor& kv_mask, const Tensor& log_sum,
                        double scale);
// gradient becomes weights * (gradient - along [B, H, N]) * scale
void cuda_score_gradient(const Tensor& weights, const Tensor& along, const Tensor& gradient,
                         double scale);

// Whether rows of x can be normalised into `dtype`.
bool cuda_rows_take(const Tensor& x, at::ScalarType dtype);
Tensor cuda_normalised(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant);
AddedRows cuda_add_normalised(const Tensor& x, const Tensor& y);
bool cuda_placed_rows_take(const PlacedArray& rows);
Tensor cuda_normalised_placed(const PlacedArray& rows);
bool cuda_neighbourhoods_take(const Tensor& pictures, int64_t size);
Tensor cuda_neighbourhood_rows(const Tensor& pictures, int64_t size);

}  // namespace perceiver
