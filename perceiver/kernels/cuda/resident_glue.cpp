#include "perceiver/kernels/cuda/resident_glue.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/kernels/cuda/attention_resident.h"

namespace perceiver {
namespace {

// x [B, H, R, C] as the kernels can read it: channels side by side, rows on 16 bytes.
Tensor aligned(const Tensor& x) {
  constexpr int64_t kTogether = 8;
  const bool fits = x.stride(3) == 1 && x.stride(0) % kTogether == 0 &&
                    x.stride(1) % kTogether == 0 && x.stride(2) % kTogether == 0 &&
                    reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
  return fits ? x : x.contiguous();
}

HeadRows head_rows(const Tensor& x) {
  return {x.const_data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

NewHeadRows new_head_rows(const Tensor& x) {
  return {x.data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

// A new array [B, R, H * C], as [B, H, R, C].
Tensor new_heads(const Tensor& like, int64_t channels) {
  return at::empty({like.size(0), like.size(2), like.size(1), channels}, like.options())
      .transpose(1, 2);
}

struct Prepared {
  Tensor q, k, v, mask;  // they live as long as the case
  ResidentAttention attention;
};

Prepared prepared(const AttentionInputs& in) {
  Prepared p{aligned(in.q),
             aligned(in.k),
             aligned(in.v),
             in.kv_mask.defined() ? in.kv_mask.contiguous() : Tensor(),
             {}};
  p.attention = {.bfloat16 = p.q.scalar_type() == at::kBFloat16,
                 .batch = static_cast<int>(p.q.size(0)),
                 .heads = static_cast<int>(p.q.size(1)),
                 .queries = static_cast<int>(p.q.size(2)),
                 .keys = static_cast<int>(p.k.size(2)),
                 .qk_channels = static_cast<int>(p.q.size(3)),
                 .v_channels = static_cast<int>(p.v.size(3)),
                 .q = head_rows(p.q),
                 .k = head_rows(p.k),
                 .v = head_rows(p.v),
                 .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(p.q.size(3))))};
  if (p.mask.defined()) {
    p.attention.kv_mask = static_cast<const uint8_t*>(p.mask.const_data_ptr());
  }
  return p;
}

// Whether q, k and v are columns of the same rows [B, N, H * (F + F + V)], one after the other.
bool are_side_by_side(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t heads = q.size(1), f = q.size(3), c = v.size(3), row = heads * (2 * f + c);
  const auto fits = [&](const Tensor& x) {
    return x.stride(3) == 1 && x.stride(1) == x.size(3) && x.stride(2) == row &&
           x.stride(0) == row * x.size(2) && x.size(2) == q.size(2);
  };
  const auto* first = static_cast<const char*>(q.const_data_ptr());
  const int64_t bytes = q.element_size();
  return fits(q) && fits(k) && fits(v) && k.const_data_ptr() == first + heads * f * bytes &&
         v.const_data_ptr() == first + heads * 2 * f * bytes;
}

AttentionGradients new_gradients(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (!are_side_by_side(q, k, v)) {
    return {new_heads(q, q.size(3)), new_heads(k, k.size(3)), new_heads(v, v.size(3))};
  }
  const int64_t heads = q.size(1), f = q.size(3), c = v.size(3);
  const Tensor all = at::empty({q.size(0), q.size(2), heads * (2 * f + c)}, q.options());
  const auto part = [&](int64_t begin, int64_t channels) {
    return all.narrow(2, begin, heads * channels).unflatten(2, {heads, channels}).transpose(1, 2);
  };
  return {part(0, f), part(heads * f, f), part(heads * 2 * f, c)};
}

}  // namespace

std::string cuda_resident_refusal(const AttentionCase& c) {
  if (c.dtype != at::kBFloat16 && c.dtype != at::kHalf) {
    return fmt::format("needs bfloat16 or float16, got {}", toString(c.dtype));
  }
  const c10::cuda::CUDAGuard guard(c.device);
  const ResidentAttention sizes = {.bfloat16 = c.dtype == at::kBFloat16,
                                   .batch = static_cast<int>(c.batch),
                                   .heads = static_cast<int>(c.heads),
                                   .queries = static_cast<int>(c.queries),
                                   .keys = static_cast<int>(c.keys),
                                   .qk_channels = static_cast<int>(c.qk_channels),
                                   .v_channels = static_cast<int>(c.v_channels)};
  const char* refusal = attention_resident_refusal(sizes, c.needs_grad);
  return refusal ? refusal : "";
}

AttentionResult cuda_attend_resident(const AttentionInputs& in) {
  const c10::cuda::CUDAGuard guard(in.q.device());
  Prepared p = prepared(in);
  const AttentionResult result = {
      new_heads(p.q, p.v.size(3)),
      at::empty(p.q.sizes().slice(0, 3), p.q.options().dtype(at::kFloat))};
  p.attention.out = new_head_rows(result.out);
  p.attention.log_sum_exp = result.log_sum.data_ptr<float>();
  C10_CUDA_CHECK(attention_resident(p.attention, c10::cuda::getCurrentCUDAStream()));
  return result;
}

AttentionGradients cuda_resident_gradients(const AttentionInputs& in, const AttentionResult& result,
                                           const Tensor& grad) {
  const c10::cuda::CUDAGuard guard(in.q.device());
  const Prepared p = prepared(in);
  const Tensor d_out = aligned(grad);
  AttentionGradients g = new_gradients(p.q, p.k, p.v);
  C10_CUDA_CHECK(
      attention_resident_gradients(p.attention,
                                   {.out = head_rows(result.out),
                                    .d_out = head_rows(d_out),
                                    .log_sum_exp = result.log_sum.const_data_ptr<float>(),
                                    .dq = new_head_rows(g.q),
                                    .dk = new_head_rows(g.k),
                                    .dv = new_head_rows(g.v)},
                                   c10::cuda::getCurrentCUDAStream()));
  return g;
}

}  // namespace perceiver
