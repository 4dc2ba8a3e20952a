// The kernel of attention_narrow.h as a function of tensors. In a program built without it, it
// refuses.
#pragma once

#include <string>

#include "perceiver/kernels/attention.h"

namespace perceiver {

std::string cuda_narrow_refusal(const AttentionCase& c);
Tensor cuda_attend_narrow(const AttentionInputs& inputs);

}  // namespace perceiver
