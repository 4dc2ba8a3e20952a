#pragma once

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

// What a forward pass leaves for its backward pass.
struct AttentionResult {
  Tensor out;  // [B, H, N, V]
  // [B, H, N], float32: the logarithm of each query's sum of exp(scale q k); -inf, the logarithm of
  // 0, for a query without any key. Every kernel keeps to that.
  Tensor log_sum;
};

// Queries whose scores may exist at one time.
int64_t queries_at_once(const AttentionCase& c);
int64_t queries_at_once(const AttentionInputs& inputs);

struct AttentionGradients {
  Tensor q, k, v;
};

// The gradients of attention, of which `grad` is the output's. Scores are computed again, a block
// of queries at a time: the memory grows with the keys, not with queries times keys.
AttentionGradients attention_gradients(const AttentionInputs& inputs, const AttentionResult& result,
                                       const Tensor& grad);

// `forward`, differentiable through `backward`.
using AttentionForward = AttentionResult (*)(const AttentionInputs&);
using AttentionBackward = AttentionGradients (*)(const AttentionInputs&, const AttentionResult&,
                                                 const Tensor& grad);
Tensor attend_with_backward(const AttentionInputs& inputs, AttentionForward forward,
                            AttentionBackward backward = attention_gradients);

}  // namespace perceiver
