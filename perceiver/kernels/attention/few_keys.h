// Attention whose keys and values of one head fit a multiprocessor's shared memory, forward and
// backward: the self-attends of language and of the small models. A block has one head; nothing of
// the scores' size is ever stored.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

// An array [B, H, R, C] with its channels one after the other; strides in elements.
struct HeadRows {
  const void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;
};
struct NewHeadRows {
  void* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;
};

struct ResidentAttention {
  bool bfloat16 = true;  // or float16
  int batch = 0, heads = 0, queries = 0, keys = 0, qk_channels = 0, v_channels = 0;
  HeadRows q = {}, k = {}, v = {};   // data and strides on 16 bytes, as of all arrays here
  const uint8_t* kv_mask = nullptr;  // [B, M], not 0: there is a key; null: all are
  float scale = 1.0f;                // above 0
  NewHeadRows out = {};              // [B, H, N, V]
  float* log_sum_exp = nullptr;      // [B, H, N]; -inf for a query without any key
};

// Of the output and of what it was made from. bfloat16 alone.
struct ResidentGradients {
  HeadRows out;  // as it was computed
  HeadRows d_out;
  const float* log_sum_exp = nullptr;  // [B, H, N], as it was computed
  NewHeadRows dq, dk, dv;
};

// Why a case cannot be taken, with gradients or without; null when it can. Looks at sizes alone,
// and at what the current device has.
const char* attention_resident_refusal(const ResidentAttention& a, bool with_gradients);

cudaError_t attention_resident(const ResidentAttention& a, cudaStream_t stream);
cudaError_t attention_resident_gradients(const ResidentAttention& a, const ResidentGradients& g,
                                         cudaStream_t stream);

}  // namespace perceiver
