#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// A tile of queries against a block of keys at a time, with a running softmax: memory for the
// scores does not grow with N or M (cpu/stream.h). The backward pass computes scores again.
Tensor attend_tiled(const AttentionInputs& inputs);
std::string attend_tiled_refusal(const AttentionCase& c);

}  // namespace perceiver
