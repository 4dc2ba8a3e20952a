#include "perceiver/tasks/multimodal/psnr.h"

#include <ATen/ATen.h>

#include <cmath>

namespace perceiver {

double psnr(double mean_squared_error, double peak) {
  return 10.0 * std::log10(peak * peak / mean_squared_error);
}

void Psnr::add(const Tensor& original, const Tensor& reconstruction) {
  const Tensor errors = original.to(at::kDouble) - reconstruction.to(at::kDouble);
  squared_errors_ += errors.square().sum().item<double>();
  count_ += original.numel();
}

double Psnr::decibels() const { return psnr(squared_errors_ / static_cast<double>(count_), peak_); }

}  // namespace perceiver
