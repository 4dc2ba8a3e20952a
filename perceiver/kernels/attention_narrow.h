#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// On a Hopper GPU and without gradients, heads of few channels over many keys: the self-attends of
// flow.
std::string attend_narrow_refusal(const AttentionCase& c);
Tensor attend_narrow(const AttentionInputs& inputs);

}  // namespace perceiver
