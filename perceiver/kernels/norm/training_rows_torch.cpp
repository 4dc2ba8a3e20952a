#include "perceiver/kernels/norm/training_rows_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/norm/training_kernels.h"

namespace perceiver {

static_assert(kMaxTrainingChannels == kMostTrainingChannels);

namespace {

CudaDtype cuda_dtype(const Tensor& x) {
  return x.scalar_type() == at::kFloat ? CudaDtype::kFloat32 : CudaDtype::kBFloat16;
}

// Rows one stride apart. Of an array that repeats one row, that stride would be 0.
Tensor in_rows(const Tensor& x) {
  return x.stride(1) == 1 && x.stride(0) >= x.size(1) ? x : x.contiguous();
}

Tensor floats(const Tensor& like, at::IntArrayRef sizes) {
  return at::empty(sizes, like.options().dtype(at::kFloat));
}

const float* floats_of(const Tensor& x) {
  return x.defined() ? x.const_data_ptr<float>() : nullptr;
}

Tensor narrow_rows(const Tensor& like, int64_t padded) {
  return at::empty({like.size(0), padded}, like.options().dtype(at::kBFloat16));
}

// Runs `pass` from x to out, which may have more columns of padding -> the sum over rows, or its
// parts
RowSum run_columns(ColumnPass pass, const Tensor& x, const Tensor& out, bool later = false) {
  const c10::cuda::CUDAGuard guard(x.device());
  const Tensor from = in_rows(x);
  const Tensor sum = floats(x, {x.size(1)});
  const Tensor workspace = floats(x, {column_workspace(x.size(1))});
  PartSums left;
  if (later) pass.left = &left;
  pass.rows = x.size(0), pass.channels = x.size(1), pass.dtype = cuda_dtype(x);
  pass.x = from.const_data_ptr(), pass.x_stride = from.stride(0);
  pass.out = out.data_ptr(), pass.out_stride = out.stride(0), pass.padded = out.size(1);
  pass.sums = sum.data_ptr<float>(), pass.workspace = workspace.data_ptr<float>();
  C10_CUDA_CHECK(columns(pass, c10::cuda::getCurrentCUDAStream()));
  return {sum, later ? workspace : Tensor(), left.count};
}

}  // namespace

bool cuda_training_rows_take(const Tensor& x, at::ScalarType dtype) {
  return x.is_cuda() && dtype == at::kBFloat16 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16) &&
         x.size(-1) <= kMaxTrainingChannels;
}

NormedRows cuda_layer_norm_rows(const RowTerms& terms, const Tensor& scale, const Tensor& offset,
                                int64_t padded) {
  const Tensor &x = terms.x, &y = terms.y;
  const c10::cuda::CUDAGuard guard(x.device());
  const Tensor from = in_rows(x);
  const int64_t count = (y.defined() ? y : x).size(0);
  NormedRows rows{.z = y.defined() ? at::empty({count, x.size(1)}, x.options()) : from,
                  .normed = narrow_rows(y.defined() ? y : x, padded),
                  .mean = floats(x, {count}),
                  .rstd = floats(x, {count})};
  LayerNormPass pass{.rows = count,
                     .channels = x.size(1),
                     .dtype = cuda_dtype(x),
                     .x = from.const_data_ptr(),
                     .x_rows = x.size(0),
                     .x_stride = from.stride(0),
                     .scale = scale.const_data_ptr<float>(),
                     .offset = offset.const_data_ptr<float>(),
                     .out = rows.normed.data_ptr(),
                     .out_stride = padded,
                     .mean = rows.mean.data_ptr<float>(),
                     .rstd = rows.rstd.data_ptr<float>()};
  if (y.defined()) {
    pass.y = y.const_data_ptr(), pass.y_stride = y.stride(0);
    pass.bias = floats_of(terms.bias);
    pass.sum = rows.z.data_ptr();
  }
  C10_CUDA_CHECK(layer_norm(pass, c10::cuda::getCurrentCUDAStream()));
  return rows;
}

NormGradients cuda_layer_norm_rows_gradient(const Tensor& gradient, const NormedRows& rows,
                                            const Tensor& scale, const Tensor& passed,
                                            WantedRows wanted, const RowSum& also) {
  const c10::cuda::CUDAGuard guard(gradient.device());
  const int64_t count = rows.z.size(0), channels = rows.z.size(1);
  const Tensor sums = floats(gradient, {3, channels});
  const Tensor workspace = floats(gradient, {layer_norm_gradient_workspace(channels)});
  const Tensor by = passed.defined() ? passed.contiguous() : Tensor();
  NormGradients g{.sum = sums[2], .scale = sums[0], .offset = sums[1]};
  LayerNormGradient pass{.rows = count,
                         .channels = channels,
                         .dtype = cuda_dtype(rows.z),
                         .gradient = gradient.const_data_ptr(),
                         .gradient_stride = gradient.stride(0),
                         .z = rows.z.const_data_ptr(),
                         .z_stride = rows.z.stride(0),
                         .mean = rows.mean.const_data_ptr<float>(),
                         .rstd = rows.rstd.const_data_ptr<float>(),
                         .scale = scale.const_data_ptr<float>(),
                         .passed = by.defined() ? by.const_data_ptr() : nullptr,
                         .sums = sums.data_ptr<float>(),
                         .workspace = workspace.data_ptr<float>()};
  if (also.parts.defined()) {
    pass.also = {also.parts.const_data_ptr<float>(), also.count, also.sum.size(0),
                 also.sum.data_ptr<float>()};
  }
  if (wanted != WantedRows::kNone) {
    g.z = at::empty({count, channels}, rows.z.options());
    pass.dz = g.z.data_ptr();
  }
  if (wanted == WantedRows::kBoth) {
    // Rows that are narrow already, and whole, are their own copy.
    const bool same = rows.z.scalar_type() == at::kBFloat16 && gradient.size(1) == channels;
    g.narrow = same ? g.z : narrow_rows(gradient, gradient.size(1));
    if (!same) pass.narrow = g.narrow.data_ptr(), pass.narrow_stride = g.narrow.stride(0);
  }
  C10_CUDA_CHECK(layer_norm_gradient(pass, c10::cuda::getCurrentCUDAStream()));
  return g;
}

Tensor cuda_added_rows(const RowTerms& terms) {
  const Tensor& x = terms.x;
  const c10::cuda::CUDAGuard guard(x.device());
  const Tensor from = in_rows(x), added = in_rows(terms.y);
  const Tensor out = at::empty(x.sizes(), x.options());
  C10_CUDA_CHECK(add_rows({.rows = x.size(0),
                           .channels = x.size(1),
                           .dtype = cuda_dtype(x),
                           .x = from.const_data_ptr(),
                           .x_stride = from.stride(0),
                           .y = added.const_data_ptr(),
                           .y_stride = added.stride(0),
                           .bias = floats_of(terms.bias),
                           .out = out.data_ptr()},
                          c10::cuda::getCurrentCUDAStream()));
  return out;
}

SummedRows cuda_narrowed_rows(const Tensor& x, int64_t padded) {
  const Tensor out = narrow_rows(x, padded);
  return {out, run_columns({}, x, out).sum};
}

Tensor cuda_copy_and_sum(const Tensor& x, const Tensor& out) { return run_columns({}, x, out).sum; }

RowSum cuda_sum_later(const Tensor& x) { return run_columns({}, x, x, /*later=*/true); }

RowsToSum cuda_gelu_rows_gradient(const Tensor& gradient, const Tensor& at, bool tanh) {
  const Tensor out = narrow_rows(gradient, gradient.size(1));
  ColumnPass pass{.operation = tanh ? ColumnOperation::kGeluTanh : ColumnOperation::kGeluErf};
  pass.at = at.const_data_ptr(), pass.at_stride = at.stride(0);
  return {out, run_columns(pass, gradient, out, /*later=*/true)};
}

}  // namespace perceiver
