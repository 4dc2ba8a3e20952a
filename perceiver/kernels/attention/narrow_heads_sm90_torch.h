// The kernel of narrow_heads_sm90.h as a function of tensors. In a program built without it, it
// refuses.
#pragma once

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

Tensor cuda_attend_narrow(const AttentionInputs& inputs);

}  // namespace perceiver
