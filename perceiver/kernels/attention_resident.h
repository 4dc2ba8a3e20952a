#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// On a GPU, heads whose keys and values fit a multiprocessor's shared memory, forward and backward,
// masked or not: the self-attends of language and of small models.
std::string attend_resident_refusal(const AttentionCase& c);
Tensor attend_resident(const AttentionInputs& inputs);

}  // namespace perceiver
