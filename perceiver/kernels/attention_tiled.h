#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// A tile of queries against a tile of keys at a time, with a running softmax: memory for the
// scores does not grow with N or M. The products are BLAS calls, the rest ATen's vectorised loops.
Tensor attend_tiled(const AttentionInputs& inputs);
std::string attend_tiled_refusal(const AttentionCase& c);

}  // namespace perceiver
