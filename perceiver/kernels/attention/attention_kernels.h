// The kernels that the table of attention.cpp has, each with what it refuses.
#pragma once

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

// The definition, in ATen operations: holds all scores, differentiable, on any device. Every
// kernel is tested against it.
Tensor attend_reference(const AttentionInputs& inputs);

// A tile of queries against a block of keys at a time, with a running softmax: memory for the
// scores does not grow with N or M (stream.h). The backward pass computes scores again.
Tensor attend_tiled(const AttentionInputs& inputs);
std::string attend_tiled_refusal(const AttentionCase& c);

// LibTorch's own fused attention on the GPU: flash, cuDNN's or the memory-efficient kernel, as
// LibTorch chooses, forward and backward. It never holds the scores, but for heads of more channels
// than this, for which it has no kernel.
constexpr int64_t kMostLibraryChannels = 256;
Tensor attend_library(const AttentionInputs& inputs);
std::string attend_library_refusal(const AttentionCase& c);

// On a GPU, heads that no kernel streams: plain products with a softmax of our own between, a block
// of queries at a time, forward and backward.
Tensor attend_blocks(const AttentionInputs& inputs);
std::string attend_blocks_refusal(const AttentionCase& c);

// One head after another of up to 328 channels, streamed by our own kernel for Hopper GPUs
// (wide_heads_sm90.h). The backward pass computes scores again.
Tensor attend_hopper(const AttentionInputs& inputs);
std::string attend_hopper_refusal(const AttentionCase& c);

// Why that kernel is not for the case at all; empty where it is.
std::string wide_heads_refusal(const AttentionCase& c);

// On a GPU, heads whose keys and values fit a multiprocessor's shared memory, forward and backward,
// masked or not: the self-attends of language and of small models (few_keys.h).
Tensor attend_resident(const AttentionInputs& inputs);
std::string attend_resident_refusal(const AttentionCase& c);

// On a Hopper GPU and without gradients, heads of few channels over many keys: the self-attends of
// flow (narrow_heads_sm90.h).
Tensor attend_narrow(const AttentionInputs& inputs);
std::string attend_narrow_refusal(const AttentionCase& c);

}  // namespace perceiver
