// How far two tensors are apart, for tests: in double precision, whatever their dtypes and devices.
#pragma once

#include <ATen/ATen.h>

#include "perceiver/core/tensor.h"

namespace perceiver {

inline Tensor difference_in_double(const Tensor& a, const Tensor& b) {
  return a.to(at::kCPU, at::kDouble) - b.to(at::kCPU, at::kDouble);
}

// The largest of the elements' differences; NaN where one is.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  return difference_in_double(a, b).abs().max().item<double>();
}

// The 2-norm of all elements' differences.
inline double norm_of_difference(const Tensor& a, const Tensor& b) {
  return difference_in_double(a, b).norm().item<double>();
}

}  // namespace perceiver
