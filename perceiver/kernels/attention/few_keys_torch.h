// The kernels of few_keys.h as functions of tensors. In a program built without them they
// refuse.
#pragma once

#include "perceiver/kernels/attention/backward.h"

namespace perceiver {

AttentionResult cuda_attend_resident(const AttentionInputs& inputs);
// Of queries, keys and values that lie side by side in rows, the gradients do too.
AttentionGradients cuda_resident_gradients(const AttentionInputs& inputs,
                                           const AttentionResult& result, const Tensor& grad);

}  // namespace perceiver
