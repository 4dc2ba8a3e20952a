#include "perceiver/tasks/multimodal/psnr.h"

#include <ATen/ATen.h>

#include <cmath>

namespace perceiver {

void Psnr::add(const Tensor& original, const Tensor& reconstruction) {
  const Tensor errors = original.to(at::kDouble) - reconstruction.to(at::kDouble);
  squared_errors_ += errors.square().sum().item<double>();
  count_ += original.numel();
}

double Psnr::decibels() const {
  return 10.0 * std::log10(static_cast<double>(count_) / squared_errors_);
}

}  // namespace perceiver
