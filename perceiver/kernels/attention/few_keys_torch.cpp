#include "perceiver/kernels/attention/few_keys_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "perceiver/kernels/attention/few_keys.h"
#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/attention/head_views.h"
#include "perceiver/kernels/attention/merge_splits.h"

namespace perceiver {
namespace {

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

using resident::kShareKeys, resident::shares_are_a_batch;

int64_t shares_of(const Tensor& k) { return (k.size(2) + kShareKeys - 1) / kShareKeys; }

std::vector<AttentionInputs> in_shares(const AttentionInputs& in) {
  const int64_t shares = shares_of(in.k), keys = in.k.size(2);
  std::vector<Tensor> masks(shares);
  if (in.kv_mask.defined()) {
    // One copy puts the mask of each share where it has no gaps.
    masks =
        keys % kShareKeys == 0
            ? in.kv_mask.unflatten(1, {shares, kShareKeys}).transpose(0, 1).contiguous().unbind()
            : in.kv_mask.split(kShareKeys, 1);
  }
  std::vector<AttentionInputs> all;
  for (int64_t i = 0; i < shares; ++i) {
    const int64_t begin = i * kShareKeys, count = std::min(kShareKeys, keys - begin);
    all.push_back({.q = in.q,
                   .k = in.k.narrow(2, begin, count),
                   .v = in.v.narrow(2, begin, count),
                   .kv_mask = masks[i]});
  }
  return all;
}

void attend_whole(const AttentionInputs& in, const AttentionResult& result) {
  Prepared p = prepared(in);
  p.attention.out = new_head_rows(result.out);
  p.attention.log_sum_exp = result.log_sum.data_ptr<float>();
  C10_CUDA_CHECK(attention_resident(p.attention, c10::cuda::getCurrentCUDAStream()));
}

void attend_shares(const AttentionInputs& in, const AttentionResult& result) {
  const int64_t shares = shares_of(in.k);
  const auto repeated = [&](const Tensor& x) {
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.insert(sizes.begin(), shares);
    return at::empty(sizes, x.options());
  };
  const Tensor rows = result.out.transpose(1, 2);  // [B, N, H, V]
  const Tensor parts = repeated(rows), log_sums = repeated(result.log_sum);
  if (shares_are_a_batch(in.q.size(0), in.k.size(2))) {
    const auto as_batch = [&](const Tensor& x) {  // [1, H, M, C] -> [shares, H, M / shares, C]
      return x[0].unflatten(1, {shares, kShareKeys}).transpose(0, 1);
    };
    attend_whole(
        {.q = in.q.expand({shares, -1, -1, -1}),
         .k = as_batch(in.k),
         .v = as_batch(in.v),
         .kv_mask = in.kv_mask.defined() ? in.kv_mask.reshape({shares, kShareKeys}) : Tensor()},
        {parts.squeeze(1).transpose(1, 2), log_sums.squeeze(1)});
  } else {
    int64_t i = 0;
    for (const AttentionInputs& share : in_shares(in)) {
      attend_whole(share, {parts[i].transpose(1, 2), log_sums[i]});
      ++i;
    }
  }
  C10_CUDA_CHECK(merge_shares({.shares = static_cast<int>(shares),
                               .heads = static_cast<int>(rows.size(2)),
                               .queries = static_cast<int>(rows.size(1)),
                               .channels = static_cast<int>(rows.size(3)),
                               .batch = rows.size(0),
                               .parts = parts.const_data_ptr(),
                               .log_sums = log_sums.const_data_ptr<float>(),
                               .out = rows.data_ptr(),
                               .log_sum = result.log_sum.data_ptr<float>()},
                              c10::cuda::getCurrentCUDAStream()));
}

// Whether arrays [B, H, R, C] are columns of the same rows [B, R, H * (C + C' + ...)], one after
// the other.
bool are_side_by_side(const std::vector<Tensor>& arrays) {
  const int64_t elements = arrays[0].size(2), heads = arrays[0].size(1);
  int64_t row = 0, column = 0;
  for (const Tensor& x : arrays) row += heads * x.size(3);
  const auto* first = static_cast<const char*>(arrays[0].const_data_ptr());
  for (const Tensor& x : arrays) {
    if (x.size(2) != elements || x.stride(3) != 1 || x.stride(1) != x.size(3) ||
        x.stride(2) != row || x.stride(0) != row * elements ||
        x.const_data_ptr() != first + column * x.element_size()) {
      return false;
    }
    column += heads * x.size(3);
  }
  return true;
}

std::vector<Tensor> new_side_by_side(const std::vector<Tensor>& like) {
  const int64_t heads = like[0].size(1);
  int64_t row = 0, column = 0;
  for (const Tensor& x : like) row += heads * x.size(3);
  const Tensor all = at::empty({like[0].size(0), like[0].size(2), row}, like[0].options());
  std::vector<Tensor> parts;
  for (const Tensor& x : like) {
    const int64_t width = heads * x.size(3);
    parts.push_back(all.narrow(2, column, width).unflatten(2, {heads, x.size(3)}).transpose(1, 2));
    column += width;
  }
  return parts;
}

// Where the inputs lie side by side, so do their gradients.
AttentionGradients new_gradients(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (are_side_by_side({q, k, v})) {
    const std::vector<Tensor> all = new_side_by_side({q, k, v});
    return {all[0], all[1], all[2]};
  }
  const Tensor dq = new_heads(q, q.size(3));
  if (!are_side_by_side({k, v})) return {dq, new_heads(k, k.size(3)), new_heads(v, v.size(3))};
  const std::vector<Tensor> pair = new_side_by_side({k, v});
  return {dq, pair[0], pair[1]};
}

void whole_gradients(const AttentionInputs& in, const AttentionResult& result, const Tensor& d_out,
                     const AttentionGradients& g) {
  const Prepared p = prepared(in);
  C10_CUDA_CHECK(
      attention_resident_gradients(p.attention,
                                   {.out = head_rows(result.out),
                                    .d_out = head_rows(d_out),
                                    .log_sum_exp = result.log_sum.const_data_ptr<float>(),
                                    .dq = new_head_rows(g.q),
                                    .dk = new_head_rows(g.k),
                                    .dv = new_head_rows(g.v)},
                                   c10::cuda::getCurrentCUDAStream()));
}

// A share's weights are those of all keys: the logarithm of their sum is that of all.
void gradients_by_shares(const AttentionInputs& in, const AttentionResult& result,
                         const Tensor& d_out, const AttentionGradients& g) {
  const Tensor rows = g.q.transpose(1, 2);  // [B, N, H, F]
  const Tensor parts = at::empty(
      {shares_of(in.k), rows.size(0), rows.size(1), rows.size(2), rows.size(3)}, rows.options());
  int64_t i = 0, begin = 0;
  for (const AttentionInputs& share : in_shares(in)) {
    const int64_t count = share.k.size(2);
    whole_gradients(
        share, result, d_out,
        {parts[i].transpose(1, 2), g.k.narrow(2, begin, count), g.v.narrow(2, begin, count)});
    ++i, begin += count;
  }
  rows.copy_(parts.sum(0, /*keepdim=*/false, at::kFloat));
}

}  // namespace

AttentionResult cuda_attend_resident(const AttentionInputs& in) {
  const c10::cuda::CUDAGuard guard(in.q.device());
  const AttentionResult result = {
      new_heads(in.q, in.v.size(3)),
      at::empty(in.q.sizes().slice(0, 3), in.q.options().dtype(at::kFloat))};
  const bool whole = attention_resident_refusal(prepared(in).attention, false) == nullptr;
  whole ? attend_whole(in, result) : attend_shares(in, result);
  return result;
}

AttentionGradients cuda_resident_gradients(const AttentionInputs& in, const AttentionResult& result,
                                           const Tensor& grad) {
  const c10::cuda::CUDAGuard guard(in.q.device());
  const AttentionGradients g = new_gradients(in.q, in.k, in.v);
  const bool whole = attention_resident_refusal(prepared(in).attention, true) == nullptr;
  whole ? whole_gradients(in, result, aligned(grad), g)
        : gradients_by_shares(in, result, aligned(grad), g);
  return g;
}

}  // namespace perceiver
