// Attention of heads of few channels over many keys, forward alone: the self-attends of flow (2,048
// latents, 16 heads of 32 channels). For Hopper. Nothing of the scores' size is ever stored.
#pragma once

#include <cuda_runtime_api.h>

#include "perceiver/kernels/attention/few_keys.h"

namespace perceiver {

struct NarrowAttention {
  bool bfloat16 = true;  // or float16
  int batch = 0, heads = 0, queries = 0, keys = 0;
  int channels = 0;                 // of a head, in q, k and v
  HeadRows q = {}, k = {}, v = {};  // data and strides on 16 bytes
  float scale = 1.0f;               // above 0
  NewHeadRows out = {};             // [B, H, N, C], on 16 bytes
};

// Why a case cannot be taken; null when it can. Looks at sizes alone, and at the current device.
const char* attention_narrow_refusal(const NarrowAttention& a);

cudaError_t attention_narrow(const NarrowAttention& a, cudaStream_t stream);

}  // namespace perceiver
