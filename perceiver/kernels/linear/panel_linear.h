#pragma once

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/cpu/tiles.h"

namespace perceiver {

// A linear layer in the CPU's layout: the weights in panels, once, and what comes after the product
// done while it is still in the registers.
class PanelLinear {
 public:
  PanelLinear() = default;
  // weight [out, in], bias [out] or undefined; products in `dtype`, float32 or bfloat16.
  PanelLinear(const Tensor& weight, const Tensor& bias, at::ScalarType dtype);

  // x [R, in] -> [R, out], both of the dtype
  Tensor forward(const Tensor& x, Activation activation = Activation::kNone) const;

  // The same in float32, and with `onto` [R, out], float32, added where it is defined.
  Tensor sum(const Tensor& x, const Tensor& onto = {}) const;
  // z [R, out], float32 += layer(x)
  void add_to(const Tensor& z, const Tensor& x) const;

 private:
  // `finish` says where the product goes.
  template <typename Finish>
  void multiply(const Tensor& x, const Finish& finish) const;
  void multiply_onto(const Tensor& onto, const Tensor& x, const Tensor& z) const;

  at::ScalarType dtype_ = at::kFloat;
  int64_t in_ = 0, out_ = 0;
  Tensor panels_;  // flat
  Tensor bias_;    // [out], float32
};

// x [R, C], float32 or of the dtype -> its rows with mean 0 and variance 1, of the dtype
Tensor normalised(const Tensor& x, at::ScalarType dtype);

}  // namespace perceiver
