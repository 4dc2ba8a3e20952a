// The kernels of score_blocks.h as functions of tensors. In a program built without them they
// refuse.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// Scores [B, H, N, M] without gaps, masked by kv_mask [B, M] or not at all; log_sum [B, H, N].
bool cuda_scores_take(const Tensor& scores);
inline bool score_blocks_take(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf;
}
// scores become softmax(scale * scores) -> log_sum
Tensor cuda_softmax(const Tensor& scores, const Tensor& kv_mask, double scale);
// scores become the same again, from their log_sum
void cuda_recompute_weights(const Tensor& scores, const Tensor& kv_mask, const Tensor& log_sum,
                            double scale);
// gradient becomes weights * (gradient - delta [B, H, N]) * scale
void cuda_score_gradient(const Tensor& weights, const Tensor& delta, const Tensor& gradient,
                         double scale);

}  // namespace perceiver
