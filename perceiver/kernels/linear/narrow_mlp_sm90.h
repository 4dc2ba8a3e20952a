// An MLP whose result has only a few channels, with the LayerNorm before it and the sum behind it,
// in one pass over its rows. For Hopper.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "perceiver/kernels/linear/product_limits.h"

namespace perceiver {

// In the dtype of the rows. LayerNorm's scale and offset are part of `widen` and its bias.
struct NarrowMlpWeights {
  bool bfloat16;  // else float16
  NarrowMlpSizes sizes;
  const void* widen;        // [hidden, in]; zeros for channels that LayerNorm leaves out
  const void* widen_bias;   // [hidden]
  const void* narrow;       // [out, hidden]
  const void* narrow_bias;  // [out]
};

// The weights as the kernel wants them; `packed` has narrow_mlp_packed_bytes(out) bytes and starts
// at a multiple of 16.
int64_t narrow_mlp_packed_bytes(int64_t out);
cudaError_t pack_narrow_mlp(const NarrowMlpWeights& weights, void* packed, cudaStream_t stream);

// riders + GELU(LayerNorm(x) widen^T + bias) narrow^T + bias, with GELU's tanh form. Channels of x
// that LayerNorm leaves out may hold anything finite, and so the riders.
struct NarrowMlp {
  bool bfloat16;
  NarrowMlpSizes sizes;
  int64_t rows;        // M
  const void* x;       // [M, in]; rows start at multiples of 16 bytes
  int64_t x_stride;    // elements, as all strides
  const void* packed;  // is read before the kernel before this one is done
  const void* riders;  // [M, out] or null
  int64_t riders_stride;
  void* result;  // [M, out]; may not be a part of x
  int64_t result_stride;
};
cudaError_t narrow_mlp_hopper(const NarrowMlp& mlp, cudaStream_t stream);

}  // namespace perceiver
