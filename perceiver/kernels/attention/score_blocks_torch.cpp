#include "perceiver/kernels/attention/score_blocks_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "perceiver/kernels/attention/score_blocks.h"
#include "perceiver/kernels/cuda/torch_dtype.h"

namespace perceiver {

bool cuda_scores_take(const Tensor& scores) {
  return scores.is_cuda() && scores.is_contiguous() && score_blocks_take(scores.scalar_type());
}

// `mask`, without gaps, has to live as long as the block is used.
static ScoreBlock score_block(const Tensor& scores, const Tensor& mask) {
  const int64_t keys = scores.size(3);
  ScoreBlock block{.rows = scores.numel() / std::max<int64_t>(1, keys),
                   .keys = keys,
                   .stride = keys,
                   .dtype = cuda_dtype(scores.scalar_type())};
  if (mask.defined()) {
    block.kv_mask = static_cast<const uint8_t*>(mask.const_data_ptr());
    block.mask_stride = keys;
    block.rows_per_mask = scores.size(1) * scores.size(2);
  }
  return block;
}

static Tensor without_gaps(const Tensor& x) { return x.defined() ? x.contiguous() : x; }

Tensor cuda_softmax(const Tensor& scores, const Tensor& kv_mask, double scale) {
  const c10::cuda::CUDAGuard guard(scores.device());
  const Tensor mask = without_gaps(kv_mask);
  const Tensor log_sum = at::empty(scores.sizes().slice(0, 3), scores.options().dtype(at::kFloat));
  C10_CUDA_CHECK(attention_softmax(score_block(scores, mask), static_cast<float>(scale),
                                   scores.data_ptr(), log_sum.data_ptr<float>(),
                                   c10::cuda::getCurrentCUDAStream()));
  return log_sum;
}

void cuda_recompute_weights(const Tensor& scores, const Tensor& kv_mask, const Tensor& log_sum,
                            double scale) {
  const c10::cuda::CUDAGuard guard(scores.device());
  const Tensor mask = without_gaps(kv_mask), normalisers = log_sum.contiguous();
  C10_CUDA_CHECK(attention_weights(score_block(scores, mask), static_cast<float>(scale),
                                   scores.const_data_ptr(), normalisers.const_data_ptr<float>(),
                                   scores.data_ptr(), c10::cuda::getCurrentCUDAStream()));
}

void cuda_score_gradient(const Tensor& weights, const Tensor& delta, const Tensor& gradient,
                         double scale) {
  const c10::cuda::CUDAGuard guard(weights.device());
  const Tensor deltas = delta.contiguous();
  C10_CUDA_CHECK(score_gradient(score_block(weights, {}), static_cast<float>(scale),
                                weights.const_data_ptr(), deltas.const_data_ptr<float>(),
                                gradient.data_ptr(), c10::cuda::getCurrentCUDAStream()));
}

}  // namespace perceiver
