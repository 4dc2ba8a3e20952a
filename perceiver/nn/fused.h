// The training form of the attend modules: two functions with gradients written by hand, on both
// sides of the attention itself. Between the products every row is read once and written once, in
// the products' dtype; weights' gradients are summed in float32.
#pragma once

#include <optional>
#include <vector>

#include "perceiver/kernels/run.h"
#include "perceiver/nn/layers.h"
#include "perceiver/nn/semantics.h"

namespace perceiver {

// Whether modules compute x in this form now, and in which dtype they multiply: a gradient is
// wanted, autocast is on, and there are kernels for it.
std::optional<at::ScalarType> fused_dtype(const Tensor& x);

// While it lives, modules on this thread use the form wherever gradients are wanted, in x's dtype
// where autocast is off: to test it without a GPU.
struct FusedAttendScope : RunScope {
  FusedAttendScope() : RunScope([](Run& run) { run.fused_attends = true; }) {}
};

// What runs along the layers, [B, N, C]: x + y + bias, which the next norm adds up on its way, and
// whose gradient that norm hands to each of them. Without y it is x.
struct Residual {
  Tensor x, y = {}, bias = {};  // [B, N, C], [B, N, at least C], [C]
};
Tensor added_up(const Residual& residual);

// Every layer of the residual's norm, [B, N, out] each. `passed` is the residual added up; what
// uses it hands its gradient to the norm, which adds it to its own.
struct NormedProjections {
  Tensor passed;
  std::vector<Tensor> outputs = {};
};
NormedProjections project_normed(const Residual& residual, const LayerNorm& norm,
                                 const std::vector<Linear>& layers, at::ScalarType dtype);

// z + narrow(GELU(widen(norm(z)))) where z = x + output(attended), or without x where it is
// undefined: x [B, N, D], attended [B, N, V] -> [B, N, D]
struct AttendTail {
  Linear output{nullptr};
  LayerNorm norm{nullptr};
  Linear widen{nullptr}, narrow{nullptr};
  Gelu gelu = Gelu::kTanh;
};
Residual add_and_mlp(const Tensor& x, const Tensor& attended, const AttendTail& tail,
                     at::ScalarType dtype);

}  // namespace perceiver
