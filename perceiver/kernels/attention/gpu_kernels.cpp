// Our kernels for GPUs as the table of attention.cpp has them.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/attention_kernels.h"
#include "perceiver/kernels/attention/backward.h"
#include "perceiver/kernels/attention/few_keys_torch.h"
#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_torch.h"
#include "perceiver/kernels/attention/query_blocks.h"
#include "perceiver/kernels/attention/score_blocks_torch.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/attention/wide_heads_sm90_torch.h"

namespace perceiver {

static std::string on_gpu_refusal(const AttentionCase& c) {
  return c.device.is_cuda() ? "" : "needs the GPU, the tensors are on " + c.device.str();
}

// Why there is no kernel of ours, for elements of 16 bits, on the device at all.
static std::string of_16_bits_refusal(const AttentionCase& c) {
  const Gpu& gpu = c.device.gpu;
  if (!gpu.has_kernels) return kNoKernels;
  if (c.dtype != at::kBFloat16 && c.dtype != at::kHalf) {
    return fmt::format("needs bfloat16 or float16, got {}", toString(c.dtype));
  }
  return gpu.compute_capability == 0 ? kNoGpu : "";
}

static HeadSizes sizes_of(const AttentionCase& c) {
  return {.batch = c.batch,
          .heads = c.heads,
          .queries = c.queries,
          .keys = c.keys,
          .qk_channels = c.qk_channels,
          .v_channels = c.v_channels};
}

static std::string words(const char* refusal) { return refusal ? refusal : ""; }

std::string wide_heads_refusal(const AttentionCase& c) {
  if (const std::string refusal = on_gpu_refusal(c); !refusal.empty()) return refusal;
  if (const std::string refusal = of_16_bits_refusal(c); !refusal.empty()) return refusal;
  HeadSizes all = sizes_of(c);
  all.batch *= c.heads, all.heads = 1;
  return words(wide_heads_refusal(c.device.gpu, all));
}

std::string attend_hopper_refusal(const AttentionCase& c) {
  if (const std::string refusal = on_gpu_refusal(c); !refusal.empty()) return refusal;
  if (c.qk_channels != c.v_channels || c.qk_channels <= kMostLibraryChannels) {
    return fmt::format("is for heads of more than {} channels, as many of keys as of values",
                       kMostLibraryChannels);
  }
  if (c.dropout) return "does not drop attention weights";
  return wide_heads_refusal(c);
}

// [B, H, N, F] -> [B * H, N, F], rows on 16 bytes
static Tensor heads_apart(const Tensor& x) {
  const int64_t channels = x.size(3);
  const Tensor rows = x.flatten(0, 1);
  return at::constant_pad_nd(rows, {0, padded_channels(channels) - channels})
      .narrow(2, 0, channels);
}

static AttentionResult forward_by_head(const AttentionInputs& in) {
  const int64_t batch = in.q.size(0), heads = in.q.size(1), queries = in.q.size(2);
  const Tensor mask = in.kv_mask.defined()
                          ? in.kv_mask.unsqueeze(1).expand({batch, heads, -1}).flatten(0, 1)
                          : in.kv_mask;
  Tensor log_sum;
  const Tensor out =
      cuda_attend_hopper(heads_apart(in.q), heads_apart(in.k), heads_apart(in.v), mask,
                         1.0 / std::sqrt(static_cast<double>(in.q.size(3))), &log_sum);
  return {out.narrow(2, 0, in.v.size(3)).unflatten(0, {batch, heads}),
          log_sum.view({batch, heads, queries})};
}

Tensor attend_hopper(const AttentionInputs& in) {
  return attend_with_backward(in, forward_by_head);
}

std::string attend_resident_refusal(const AttentionCase& c) {
  if (const std::string refusal = on_gpu_refusal(c); !refusal.empty()) return refusal;
  if (c.dropout) return "does not drop attention weights";
  if (const std::string refusal = of_16_bits_refusal(c); !refusal.empty()) return refusal;
  if (c.needs_grad && c.dtype != at::kBFloat16) return "has gradients in bfloat16 alone";
  HeadSizes sizes = sizes_of(c);
  const char* refusal = few_keys_refusal(c.device.gpu, sizes, c.needs_grad);
  if (refusal && resident::shares_pay(sizes, c.needs_grad)) {
    sizes.keys = resident::kShareKeys;
    refusal = few_keys_refusal(c.device.gpu, sizes, c.needs_grad);
  }
  return words(refusal);
}

Tensor attend_resident(const AttentionInputs& in) {
  return attend_with_backward(in, cuda_attend_resident, cuda_resident_gradients);
}

std::string attend_narrow_refusal(const AttentionCase& c) {
  if (const std::string refusal = on_gpu_refusal(c); !refusal.empty()) return refusal;
  if (c.dropout) return "does not drop attention weights";
  if (c.needs_grad) return "has no gradients";
  if (c.masked) return "does not take masks of keys";
  if (c.qk_channels != c.v_channels) return "needs as many channels of keys as of values";
  if (const std::string refusal = of_16_bits_refusal(c); !refusal.empty()) return refusal;
  if (const char* refusal = narrow_heads_refusal(c.device.gpu, sizes_of(c))) return refusal;
  return narrow_heads_pay(c.device.gpu, sizes_of(c))
             ? ""
             : "needs queries and heads for most multiprocessors";
}

Tensor attend_narrow(const AttentionInputs& in) { return cuda_attend_narrow(in); }

std::string attend_blocks_refusal(const AttentionCase& c) {
  if (const std::string refusal = on_gpu_refusal(c); !refusal.empty()) return refusal;
  if (std::max(c.qk_channels, c.v_channels) <= kMostLibraryChannels) {
    return fmt::format("is for heads of more than {} channels", kMostLibraryChannels);
  }
  if (c.dropout) return "does not drop attention weights";
  if (!c.device.gpu.has_kernels) return kNoKernels;
  return score_blocks_take(c.dtype) ? "" : "has no kernel for this dtype";
}

static AttentionResult forward_in_blocks(const AttentionInputs& in) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.q.size(3)));
  const Tensor keys = in.k.transpose(2, 3);
  std::vector<Tensor> outs, sums;
  for_each_block(in.q.size(2), queries_at_once(in), [&](int64_t begin, int64_t count) {
    const Tensor weights = at::matmul(in.q.narrow(2, begin, count), keys).contiguous();
    sums.push_back(cuda_softmax(weights, in.kv_mask, scale));
    outs.push_back(at::matmul(weights, in.v));
  });
  return {at::cat(outs, 2), at::cat(sums, 2)};
}

Tensor attend_blocks(const AttentionInputs& in) {
  return attend_with_backward(in, forward_in_blocks);
}

}  // namespace perceiver
