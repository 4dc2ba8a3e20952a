#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// One head after another of up to 328 channels, streamed by our own kernel for Hopper GPUs
// (cuda/attention_hopper.h). The backward pass computes scores again.
Tensor attend_hopper(const AttentionInputs& inputs);
std::string attend_hopper_refusal(const AttentionCase& c);

}  // namespace perceiver
