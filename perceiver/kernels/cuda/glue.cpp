#include "perceiver/kernels/cuda/glue.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/repeated.h"
#include "perceiver/kernels/cuda/attention_hopper.h"
#include "perceiver/kernels/cuda/attention_hopper_tile.h"
#include "perceiver/kernels/cuda/attention_pieces.h"
#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/cuda/neighbourhoods.h"
#include "perceiver/kernels/cuda/rows.h"
#include "perceiver/kernels/wide_attention.h"

namespace perceiver {

static_assert(kMostHopperChannels == hopper::kMostChannels);

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

CudaDtype cuda_dtype(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return CudaDtype::kBFloat16;
  return dtype == at::kHalf ? CudaDtype::kFloat16 : CudaDtype::kFloat32;
}

}  // namespace

std::string cuda_hopper_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (c.dtype != at::kBFloat16 && c.dtype != at::kHalf) {
    return fmt::format("needs bfloat16 or float16, got {}", toString(c.dtype));
  }
  if (c10::cuda::device_count() == 0) return kNoGpu;
  const c10::cuda::CUDAGuard guard(c.device);
  HopperAttention a;
  a.bfloat16 = c.dtype == at::kBFloat16;
  a.batch = c.batch * c.heads, a.queries = c.queries, a.keys = c.keys;
  a.qk_channels = c.qk_channels, a.v_channels = c.v_channels;
  a.q_row = a.k_row = padded_channels(c.qk_channels);
  a.v_row = a.out_row = padded_channels(c.v_channels);
  const char* refusal = attention_hopper_refusal(a);
  return refusal ? refusal : "";
}

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

bool cuda_scores_take(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf;
}

bool cuda_scores_take(const Tensor& scores) {
  return scores.is_cuda() && scores.is_contiguous() && cuda_scores_take(scores.scalar_type());
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

void cuda_weights_again(const Tensor& scores, const Tensor& kv_mask, const Tensor& log_sum,
                        double scale) {
  const c10::cuda::CUDAGuard guard(scores.device());
  const Tensor mask = without_gaps(kv_mask), normalisers = log_sum.contiguous();
  C10_CUDA_CHECK(attention_weights(score_block(scores, mask), static_cast<float>(scale),
                                   scores.const_data_ptr(), normalisers.const_data_ptr<float>(),
                                   scores.data_ptr(), c10::cuda::getCurrentCUDAStream()));
}

void cuda_score_gradient(const Tensor& weights, const Tensor& along, const Tensor& gradient,
                         double scale) {
  const c10::cuda::CUDAGuard guard(weights.device());
  const Tensor delta = along.contiguous();
  C10_CUDA_CHECK(score_gradient(score_block(weights, {}), static_cast<float>(scale),
                                weights.const_data_ptr(), delta.const_data_ptr<float>(),
                                gradient.data_ptr(), c10::cuda::getCurrentCUDAStream()));
}

bool cuda_rows_take(const Tensor& x, at::ScalarType dtype) {
  const auto known = [](at::ScalarType t) {
    return t == at::kFloat || t == at::kBFloat16 || t == at::kHalf;
  };
  return x.is_cuda() && known(x.scalar_type()) && known(dtype) && x.size(-1) <= kMaxRowChannels &&
         (x.scalar_type() == dtype || x.scalar_type() == at::kFloat);
}

// x [..., C] as rows one stride apart. Of an array that repeats one row, that stride would be 0.
static Tensor rows_of(const Tensor& x) {
  const Tensor rows = x.reshape({-1, x.size(-1)});
  return rows.stride(1) == 1 && rows.stride(0) >= rows.size(1) ? rows : rows.contiguous();
}

// How many channels from the start of a row may be read, for all of them.
static int64_t readable_channels(const Tensor& rows) {
  if (rows.size(0) == 0) return 0;
  const auto stored = static_cast<int64_t>(rows.storage().nbytes() / rows.element_size());
  const int64_t last = rows.storage_offset() + (rows.size(0) - 1) * rows.stride(0);
  return std::min(rows.stride(0), stored - last);
}

Tensor cuda_normalised(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant) {
  const c10::cuda::CUDAGuard guard(x.device());
  const Tensor rows = rows_of(x);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = padded;
  const Tensor out = at::empty(sizes, x.options().dtype(dtype));
  const RowShape shape{.rows = rows.size(0),
                       .channels = rows.size(1),
                       .stride = rows.stride(0),
                       .out_stride = padded,
                       .constant = constant,
                       .readable = readable_channels(rows)};
  C10_CUDA_CHECK(normalise(shape, cuda_dtype(x.scalar_type()), rows.const_data_ptr(),
                           cuda_dtype(dtype), out.data_ptr(), c10::cuda::getCurrentCUDAStream()));
  return out;
}

AddedRows cuda_add_normalised(const Tensor& x, const Tensor& y) {
  const c10::cuda::CUDAGuard guard(x.device());
  // The kernel adds to y's rows, which nobody else has: they come out of a product.
  const Tensor sum = y.is_contiguous() ? y : y.contiguous();
  // Of an array that repeats its first example, one is enough.
  const Tensor other =
      (x.dim() == 3 && repeats_one_example(x) ? x.narrow(0, 0, 1) : x).contiguous();
  const Tensor out = at::empty_like(sum);
  const int64_t channels = sum.size(-1);
  const RowShape shape{.rows = sum.numel() / channels,
                       .channels = channels,
                       .stride = channels,
                       .out_stride = channels};
  const CudaDtype dtype = cuda_dtype(sum.scalar_type());
  C10_CUDA_CHECK(add_normalise(shape, dtype, sum.data_ptr(), other.const_data_ptr(),
                               std::max<int64_t>(1, other.numel() / channels), dtype,
                               out.data_ptr(), c10::cuda::getCurrentCUDAStream()));
  return {sum, out};
}

bool cuda_placed_rows_take(const PlacedArray& a) {
  const at::ScalarType dtype = a.places.scalar_type();
  return a.places.is_cuda() && a.content.is_cuda() && a.content.scalar_type() == dtype &&
         (dtype == at::kBFloat16 || dtype == at::kHalf) && a.places.is_contiguous() &&
         a.channels <= kMaxRowChannels && a.places.size(1) % 8 == 0;
}

Tensor cuda_normalised_placed(const PlacedArray& a) {
  const c10::cuda::CUDAGuard guard(a.places.device());
  const int64_t places = a.places.size(0), padded = a.places.size(1);
  const Tensor ids = a.ids.defined() ? a.ids.contiguous() : Tensor();
  const int64_t batch = ids.defined() ? ids.size(0) : a.content.size(0);
  const Tensor out = at::empty({batch, places, padded}, a.places.options());
  PlacedRows rows{.places = a.places.const_data_ptr(),
                  .num_places = places,
                  .content = a.content.const_data_ptr(),
                  .content_channels = a.content.size(-1),
                  .batch_stride = ids.defined() ? 0 : a.content.stride(0),
                  .row_stride = a.content.stride(-2),
                  .channel_stride = a.content.stride(-1)};
  if (ids.defined()) rows.ids = ids.const_data_ptr<int64_t>();
  const RowShape shape{.rows = batch * places,
                       .channels = a.channels,
                       .stride = 0,
                       .out_stride = padded,
                       .constant = padded > a.channels};
  C10_CUDA_CHECK(normalise_placed(shape, cuda_dtype(out.scalar_type()), rows, out.data_ptr(),
                                  c10::cuda::getCurrentCUDAStream()));
  return out;
}

bool cuda_neighbourhoods_take(const Tensor& pictures, int64_t size) {
  return pictures.is_cuda() && pictures.element_size() == 2 && pictures.size(2) == 3 &&
         (pictures.size(1) == 1 || pictures.size(1) == 2) && (size == 1 || size == 3);
}

Tensor cuda_neighbourhood_rows(const Tensor& pictures, int64_t size) {
  const c10::cuda::CUDAGuard guard(pictures.device());
  const Tensor all = pictures.contiguous();
  const int64_t pixels = all.size(3) * all.size(4);
  const Tensor out =
      at::empty({all.size(0), pixels, padded_channels(all.size(1) * all.size(2) * size * size)},
                all.options());
  const Neighbourhoods n{.pictures = static_cast<const uint16_t*>(all.const_data_ptr()),
                         .batch = all.size(0),
                         .num_pictures = all.size(1),
                         .height = all.size(3),
                         .width = all.size(4),
                         .size = size};
  C10_CUDA_CHECK(gather_neighbourhoods(n, static_cast<uint16_t*>(out.data_ptr()),
                                       c10::cuda::getCurrentCUDAStream()));
  return out;
}

}  // namespace perceiver
