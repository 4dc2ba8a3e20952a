// An MLP into a few channels, LayerNorm before it and a sum behind it, in one pass over its rows:
// narrow_mlp_hopper for tensors. In a program built without CUDA kernels there is none.
#pragma once

#include "perceiver/kernels/linear/linear.h"

namespace perceiver {

struct NarrowMlpLayers {
  NormedLayer widen;           // H channels of K
  Tensor narrow, narrow_bias;  // [E, H], [E]
};

// 16-bit weights that the kernel has room for, and a GPU that has the kernel.
bool cuda_narrow_mlp_takes(const NarrowMlpLayers& layers);

// The weights as the kernel wants them, once.
Tensor cuda_packed_narrow_mlp(const NarrowMlpLayers& layers);

// x [..., K], riders [..., E] -> riders + GELU(widen(LayerNorm(x))) narrow^T + bias, [..., E], with
// GELU's tanh form.
Tensor cuda_narrow_mlp(const Tensor& x, const NarrowMlpLayers& layers, const Tensor& packed,
                       const Tensor& riders);

}  // namespace perceiver
