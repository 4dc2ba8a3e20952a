#include "perceiver/kernels/attention/narrow_heads_sm90_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>

#include "perceiver/kernels/attention/head_views.h"
#include "perceiver/kernels/attention/narrow_heads_sm90.h"
#include "perceiver/kernels/cuda/device.h"

namespace perceiver {

// The copy engine knows no strides of 0: what is the same for all examples is repeated.
static Tensor mapped(const Tensor& x) {
  for (int64_t i = 0; i < 3; ++i) {
    if (x.size(i) > 1 && x.stride(i) == 0) return x.contiguous();
  }
  return aligned(x);
}

Tensor cuda_attend_narrow(const AttentionInputs& in) {
  const c10::cuda::CUDAGuard guard(in.q.device());
  const Tensor q = mapped(in.q), k = mapped(in.k), v = mapped(in.v);
  const Tensor out = new_heads(q, v.size(3));
  C10_CUDA_CHECK(attention_narrow(
      {.bfloat16 = q.scalar_type() == at::kBFloat16,
       .batch = static_cast<int>(q.size(0)),
       .heads = static_cast<int>(q.size(1)),
       .queries = static_cast<int>(q.size(2)),
       .keys = static_cast<int>(k.size(2)),
       .channels = static_cast<int>(q.size(3)),
       .q = head_rows(q),
       .k = head_rows(k),
       .v = head_rows(v),
       .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(q.size(3)))),
       .out = new_head_rows(out)},
      c10::cuda::getCurrentCUDAStream()));
  return out;
}

}  // namespace perceiver
