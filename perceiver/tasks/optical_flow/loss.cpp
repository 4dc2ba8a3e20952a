#include "perceiver/tasks/optical_flow/loss.h"

#include <ATen/ATen.h>

namespace perceiver {

Tensor to_model_range(const Tensor& pixels) { return pixels.to(at::kFloat) / 127.5 - 1.0; }

Loss end_point_error(const Tensor& flow, const Tensor& truth, const Tensor& valid) {
  constexpr double kTiny = 1e-10;  // the root's slope at 0 is infinite
  const Tensor apart = (flow.to(at::kFloat) - truth).square().sum(1);
  const Tensor known = valid.to(at::kFloat);
  return {((apart + kTiny).sqrt() * known).sum(), known.sum()};
}

}  // namespace perceiver
