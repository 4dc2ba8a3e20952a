// Attention that never holds all scores, on the CPU's register tiles: key blocks stream past the
// queries, and each query keeps a running maximum, sum and weighted sum.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

struct StreamInputs {
  Tensor q;              // [B, H, N, F], float32 or bfloat16
  Tensor k;              // [B, H, M, F]
  Tensor v = {};         // [B, H, M, V]; undefined: the keys are the values too
  Tensor kv_mask = {};   // [B, M] bool, true: there is an element
  Tensor key_bias = {};  // [B, H, M] float32, added to each query's scores before they are scaled
  double scale = 1.0;    // of the scores
  bool normalise_q = false, normalise_k = false;  // to mean 0 and variance 1 over channels
};

// -> [B, H, N, V], in memory [B, N, H, V]. A query with no key to attend to gets zeros. Where
// `log_sum` is given it becomes the logarithm of each query's sum of exponentials, [B, H, N].
Tensor attend_stream(const StreamInputs& inputs, Tensor* log_sum = nullptr);

// Whether this CPU has tiles for the dtype.
bool stream_takes(at::ScalarType dtype);

}  // namespace perceiver
