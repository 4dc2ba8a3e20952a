#include "perceiver/kernels/linear/gemm_sm90_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/linear/cublaslt_torch.h"
#include "perceiver/kernels/linear/gemm_sm90.h"
#include "perceiver/kernels/linear/product_limits.h"
#include "perceiver/kernels/linear/product_rows.h"

namespace perceiver {
namespace {

bool is_small(const Product& p) {
  return product_is_small(p.x.numel() / p.x.size(-1), p.weight.size(0));
}

// All but what is special to a kind of product.
HopperProduct product_of(const Tensor& rows, const Tensor& weight, const Tensor& bias,
                         const Tensor& result) {
  HopperProduct p{};
  p.bfloat16 = rows.scalar_type() == at::kBFloat16;
  p.rows = rows.size(0);
  p.in = rows.size(1);
  p.out = weight.size(0);
  p.x = rows.const_data_ptr();
  p.x_stride = rows.stride(0);
  p.weight = weight.const_data_ptr();
  p.bias = bias.const_data_ptr();
  p.result = result.data_ptr();
  p.result_stride = p.out;
  return p;
}

RowMoments moments_of(const Tensor& moments, int64_t part) {
  return {static_cast<Moments*>(moments.data_ptr()), static_cast<int>(moments.size(1)),
          static_cast<int>(part)};
}

void run(const HopperProduct& p, ProductTiles tiles) {
  C10_CUDA_CHECK(product_hopper(p, tiles, c10::cuda::getCurrentCUDAStream()));
}

}  // namespace

bool cuda_measured_product_takes(const Product& p) {
  if (!cuda_product_takes(p) || !p.residual.defined()) return false;
  const c10::cuda::CUDAGuard guard(p.x.device());
  return is_small(p) && is_hopper();
}

MeasuredRows cuda_multiplied_and_measured(const Product& p, int64_t channels) {
  const c10::cuda::CUDAGuard guard(p.x.device());
  const Tensor x = product_rows(p.x), residual = product_rows(p.residual);
  const Tensor result = new_product(p.x, p.weight);
  HopperProduct product = product_of(x, p.weight, p.bias, result);
  const ProductTiles tiles = quickest_tiles(product.rows, product.in, product.out);
  const int64_t part = columns_of(tiles);
  const Tensor moments =
      at::empty({product.rows, (channels + part - 1) / part, 2}, p.x.options().dtype(at::kFloat));
  product.residual = residual.const_data_ptr();
  product.residual_stride = residual.stride(0);
  product.result_moments = moments_of(moments, part);
  product.result_channels = channels;
  run(product, tiles);
  return {result, moments, part};
}

bool cuda_normed_product_takes(const MeasuredRows& x, const NormedLayer& layer) {
  const auto fits = [&](const Tensor& a) {
    return a.scalar_type() == x.rows.scalar_type() && a.is_contiguous() && starts_at_16_bytes(a);
  };
  return x.moments.defined() && fits(layer.weight) && fits(layer.bias) &&
         layer.weight.size(0) % kTogether == 0 && layer.weight.size(1) == x.rows.size(-1);
}

Tensor cuda_multiplied_normed(const MeasuredRows& x, const NormedLayer& layer, bool gelu) {
  const c10::cuda::CUDAGuard guard(x.rows.device());
  const Tensor rows = product_rows(x.rows);
  const Tensor result = new_product(x.rows, layer.weight);
  HopperProduct product = product_of(rows, layer.weight, layer.bias, result);
  product.x_moments = moments_of(x.moments, x.part);
  product.x_channels = layer.channels;
  product.column_sums = layer.column_sums.const_data_ptr<float>();
  product.gelu = gelu;
  run(product, quickest_tiles(product.rows, product.in, product.out));
  return result;
}

}  // namespace perceiver
