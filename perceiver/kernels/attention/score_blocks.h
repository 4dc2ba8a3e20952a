// What attention does between its products where no kernel streams, block by block of the scores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "perceiver/kernels/cuda/dtype.h"

namespace perceiver {

// A block [R, M] of scores or of anything of their shape: R queries of all heads, M keys.
struct ScoreBlock {
  int64_t rows;    // R
  int64_t keys;    // M
  int64_t stride;  // elements from one row to the next
  CudaDtype dtype;
  const uint8_t* kv_mask = nullptr;  // [R / rows_per_mask, M], not 0: there is a key; null: all are
  int64_t mask_stride = 0;           // from one row of kv_mask to the next
  int64_t rows_per_mask = 1;         // H * N: rows that share a row of kv_mask
};

// weights [R, M] = the softmax of scale * scores, in their place, and log_sum_exp [R]. A row
// without any key gets zeros and -inf.
cudaError_t attention_softmax(const ScoreBlock& block, float scale, void* scores,
                              float* log_sum_exp, cudaStream_t stream);

// The same again from log_sum_exp: weights [R, M] = exp(scale * scores - log_sum_exp[R]), 0 where
// there is no key. A row without any key, whose log_sum_exp is -inf, gets zeros. `weights` may be
// `scores`.
cudaError_t attention_weights(const ScoreBlock& block, float scale, const void* scores,
                              const float* log_sum_exp, void* weights, cudaStream_t stream);

// gradient [R, M], of the weights, becomes that of q k^T: weights * (gradient - delta[R]) * scale.
cudaError_t score_gradient(const ScoreBlock& block, float scale, const void* weights,
                           const float* delta, void* gradient, cudaStream_t stream);

}  // namespace perceiver
