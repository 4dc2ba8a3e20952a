#include "perceiver/kernels/norm/training_rows.h"

#include <ATen/ATen.h>

#include "perceiver/kernels/norm/epsilon.h"
#include "perceiver/kernels/norm/training_rows_torch.h"

namespace perceiver {
namespace {

Tensor padded_to(const Tensor& x, int64_t channels) {
  return x.size(1) == channels ? x : at::constant_pad_nd(x, {0, channels - x.size(1)});
}

// Sums are float32 where rows are narrower.
at::ScalarType wide(const Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Tensor plain_sum(const RowTerms& terms) {
  const Tensor& x = terms.x;
  if (!terms.y.defined()) return x;
  const int64_t times = terms.y.size(0) / x.size(0);
  Tensor sum = x.repeat({times, 1}).to(wide(x)) + terms.y.narrow(1, 0, x.size(1));
  if (terms.bias.defined()) sum = sum + terms.bias;
  return sum.to(x.scalar_type());
}

}  // namespace

bool training_rows_are_fused(const Tensor& x, at::ScalarType dtype) {
  return cuda_training_rows_take(x, dtype);
}

NormedRows layer_norm_rows(const RowTerms& terms, const Tensor& scale, const Tensor& offset,
                           at::ScalarType dtype, int64_t padded) {
  if (training_rows_are_fused(terms.x, dtype)) {
    return cuda_layer_norm_rows(terms, scale, offset, padded);
  }
  NormedRows rows;
  rows.z = plain_sum(terms);
  const auto [normed, mean, rstd] =
      at::native_layer_norm(rows.z.to(wide(rows.z)), {rows.z.size(1)}, scale, offset, kNormEpsilon);
  rows.normed = padded_to(normed.to(dtype), padded);
  rows.mean = mean.view(-1), rows.rstd = rstd.view(-1);
  return rows;
}

NormGradients layer_norm_rows_gradient(const Tensor& gradient, const NormedRows& rows,
                                       const Tensor& scale, const Tensor& passed, WantedRows wanted,
                                       const RowSum& also) {
  if (training_rows_are_fused(rows.z, gradient.scalar_type())) {
    return cuda_layer_norm_rows_gradient(gradient, rows, scale, passed, wanted, also);
  }
  TORCH_INTERNAL_ASSERT(!also.parts.defined());
  const int64_t channels = rows.z.size(1), padded = gradient.size(1);
  const Tensor z = rows.z.to(wide(rows.z));
  const auto [dz, dscale, doffset] = at::native_layer_norm_backward(
      gradient.narrow(1, 0, channels).to(z.scalar_type()).contiguous(), z, {channels},
      rows.mean.view({-1, 1}), rows.rstd.view({-1, 1}), scale, at::zeros_like(scale),
      {wanted != WantedRows::kNone, true, true});
  NormGradients g{.scale = dscale, .offset = doffset};
  if (wanted == WantedRows::kNone) return g;
  const Tensor all = passed.defined() ? dz + passed : dz;
  g.z = all.to(rows.z.scalar_type());
  g.sum = all.sum(0);
  if (wanted == WantedRows::kBoth) g.narrow = padded_to(all.to(gradient.scalar_type()), padded);
  return g;
}

Tensor added_rows(const RowTerms& terms) {
  return training_rows_are_fused(terms.x, terms.y.scalar_type()) ? cuda_added_rows(terms)
                                                                 : plain_sum(terms);
}

SummedRows narrowed_rows(const Tensor& x, at::ScalarType dtype, int64_t padded) {
  if (training_rows_are_fused(x, dtype)) return cuda_narrowed_rows(x, padded);
  return {padded_to(x.to(dtype), padded), x.sum(0, /*keepdim=*/false, wide(x))};
}

Tensor copy_and_sum(const Tensor& x, const Tensor& out) {
  if (training_rows_are_fused(x, out.scalar_type())) return cuda_copy_and_sum(x, out);
  out.copy_(x);
  return x.sum(0, /*keepdim=*/false, wide(x));
}

RowSum sum_later(const Tensor& x) {
  if (training_rows_are_fused(x, x.scalar_type())) return cuda_sum_later(x);
  return {x.sum(0, /*keepdim=*/false, wide(x))};
}

RowsToSum gelu_rows_gradient(const Tensor& gradient, const Tensor& at, bool tanh) {
  if (training_rows_are_fused(gradient, at.scalar_type())) {
    return cuda_gelu_rows_gradient(gradient, at, tanh);
  }
  const Tensor rows = at::gelu_backward(gradient, at, tanh ? "tanh" : "none");
  return {rows, {rows.sum(0, /*keepdim=*/false, wide(rows))}};
}

}  // namespace perceiver
