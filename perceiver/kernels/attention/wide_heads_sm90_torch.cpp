#include "perceiver/kernels/attention/wide_heads_sm90_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/attention/wide_heads_sm90.h"
#include "perceiver/kernels/attention/wide_heads_sm90_tile.h"

namespace perceiver {

namespace {

bool rows_aligned(const Tensor& x) {
  constexpr int64_t kTogether = 8;  // elements in 16 bytes
  return x.stride(2) == 1 && x.stride(1) % kTogether == 0 && x.stride(0) % kTogether == 0 &&
         reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

HopperAttention hopper_case(const Tensor& q, const Tensor& k, const Tensor& v) {
  HopperAttention a;
  a.q = q.const_data_ptr(), a.k = k.const_data_ptr(), a.v = v.const_data_ptr();
  a.bfloat16 = q.scalar_type() == at::kBFloat16;
  a.batch = q.size(0), a.queries = q.size(1), a.keys = k.size(1);
  a.qk_channels = q.size(2), a.v_channels = v.size(2);
  a.q_row = q.stride(1), a.k_row = k.stride(1), a.v_row = v.stride(1);
  a.q_batch = q.stride(0), a.k_batch = k.stride(0), a.v_batch = v.stride(0);
  a.out_row = padded_channels(a.v_channels);
  a.out_batch = a.out_row * a.queries;
  return a;
}

}  // namespace

Tensor cuda_attend_hopper(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& kv_mask,
                          double scale, Tensor* log_sum) {
  const Tensor out = at::empty({q.size(0), q.size(1), padded_channels(v.size(2))}, q.options());
  cuda_attend_hopper_into(out, q, k, v, kv_mask, scale, log_sum);
  return out;
}

void cuda_attend_hopper_into(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                             const Tensor& kv_mask, double scale, Tensor* log_sum) {
  TORCH_INTERNAL_ASSERT(rows_aligned(q) && rows_aligned(k) && rows_aligned(v));
  const c10::cuda::CUDAGuard guard(q.device());
  HopperAttention a = hopper_case(q, k, v);
  a.out = out.data_ptr();
  a.out_row = out.stride(1), a.out_batch = out.stride(0);
  a.scale = static_cast<float>(scale);
  Tensor mask;
  if (kv_mask.defined()) {
    mask = kv_mask.contiguous();
    a.kv_mask = static_cast<const uint8_t*>(mask.const_data_ptr());
    a.mask_batch = a.keys;
  }
  if (log_sum) {
    *log_sum = at::empty({a.batch, a.queries}, q.options().dtype(at::kFloat));
    a.log_sum_exp = log_sum->data_ptr<float>();
  }
  const auto bytes = static_cast<int64_t>(attention_hopper_workspace(a));
  const Tensor workspace = at::empty({bytes}, q.options().dtype(at::kByte));
  a.workspace = workspace.data_ptr();
  C10_CUDA_CHECK(attention_hopper(a, c10::cuda::getCurrentCUDAStream()));
}

}  // namespace perceiver
