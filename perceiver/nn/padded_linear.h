// Linear layers of the inference form on a GPU.
#pragma once

#include <ATen/ATen.h>

#include "perceiver/kernels/linear/linear.h"
#include "perceiver/nn/fold.h"

namespace perceiver {

// A linear layer whose channels are filled up with zeros to what the GPU multiplies well.
struct PaddedLinear {
  Tensor weight, bias;  // [out, in], [out]

  PaddedLinear(const LinearMap& map, at::ScalarType dtype, int64_t out, int64_t in)
      : weight(at::constant_pad_nd(map.weight,
                                   {0, in - map.weight.size(1), 0, out - map.weight.size(0)})
                   .to(dtype)),
        bias(at::constant_pad_nd(map.bias, {0, out - map.bias.size(0)}).to(dtype)) {}

  Tensor forward(const Tensor& x) const { return multiplied({x, weight, bias}); }

  Tensor forward_added(const Tensor& x, const Tensor& residual) const {
    return multiplied({x, weight, bias, residual});
  }

  MeasuredRows forward_measured(const Tensor& x, const Tensor& residual, int64_t channels) const {
    return multiplied_and_measured({x, weight, bias, residual}, channels);
  }

  Tensor forward_gelu(const Tensor& x, Gelu form) const {
    if (form == Gelu::kErf) return at::gelu(forward(x), "none");
    return multiplied({.x = x, .weight = weight, .bias = bias, .gelu = true});
  }
};

// The same behind LayerNorm: rows may come before it, or after.
struct PaddedNormedLinear : PaddedLinear {
  Tensor column_sums;
  int64_t channels;

  PaddedNormedLinear(const LinearMap& map, at::ScalarType dtype, int64_t out, int64_t in)
      : PaddedLinear(map, dtype, out, in),
        column_sums(weight.sum({1}, /*keepdim=*/false, at::kFloat)),
        channels(map.weight.size(1)) {}

  NormedLayer layer() const { return {weight, bias, column_sums, channels}; }

  Tensor forward_norm(const MeasuredRows& x, bool gelu = false) const {
    return multiplied_normed(x, layer(), gelu);
  }

  Tensor forward_norm_gelu(const MeasuredRows& x, Gelu form) const {
    if (form == Gelu::kErf) return at::gelu(forward_norm(x), "none");
    return forward_norm(x, /*gelu=*/true);
  }
};

}  // namespace perceiver
