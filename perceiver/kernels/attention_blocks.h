#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// On a GPU, heads that no kernel streams: plain products with a softmax of our own between, a block
// of queries at a time, forward and backward.
std::string attend_blocks_refusal(const AttentionCase& c);
Tensor attend_blocks(const AttentionInputs& inputs);

}  // namespace perceiver
