#include "perceiver/kernels/norm/normalised_rows_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <vector>

#include "perceiver/core/repeated.h"
#include "perceiver/kernels/cuda/torch_dtype.h"
#include "perceiver/kernels/norm/normalise.h"

namespace perceiver {

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

}  // namespace perceiver
