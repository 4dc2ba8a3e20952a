#pragma once

#include "perceiver/kernels/attention.h"

namespace perceiver {

// LibTorch's own fused attention on the GPU: flash, cuDNN's or the memory-efficient kernel, as
// LibTorch chooses, forward and backward. It never holds the scores, but for heads of more channels
// than this, for which it has no kernel.
constexpr int64_t kMostLibraryChannels = 256;
Tensor attend_library(const AttentionInputs& inputs);
std::string attend_library_refusal(const AttentionCase& c);

}  // namespace perceiver
