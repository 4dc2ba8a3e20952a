#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// The definition, in ATen operations: holds all scores, differentiable, on any device. Every
// kernel is tested against it.
Tensor attend_reference(const AttentionInputs& inputs);

}  // namespace perceiver
