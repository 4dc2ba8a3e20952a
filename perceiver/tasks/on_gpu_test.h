// For tests of whole models: what they compute on a GPU in bfloat16, with everything that makes
// them fast, is as exact as what their modules do.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/kernels/attention.h"

namespace perceiver {

// `run` gives the model inputs of the dtype, on the GPU.
template <typename Model>
void expect_as_exact_as_modules(Model& model, const std::function<Tensor(at::ScalarType)>& run) {
  at::NoGradGuard no_grad;
  model->eval();
  const auto by = [&](const char* kernel, at::ScalarType dtype) {
    const AttentionKernelScope scope(kernel);
    return run(dtype).to(at::kDouble);
  };
  // Over all outputs: the largest difference is that of the one whose rounding went worst, three
  // times as large or small with another order of sums.
  const auto apart = [](const Tensor& a, const Tensor& b) {
    return (a - b).square().mean().sqrt().template item<double>();
  };
  model->to(at::kCUDA, at::kBFloat16);
  const Tensor plain = by("reference", at::kBFloat16);
  const Tensor launched = by("auto", at::kBFloat16);
  by("auto", at::kBFloat16);
  const Tensor recorded = by("auto", at::kBFloat16);  // the third call of a size
  by("check", at::kBFloat16);
  model->to(at::kDouble);
  const Tensor exact = by("reference", at::kDouble);
  EXPECT_TRUE(launched.equal(recorded));
  EXPECT_LE(apart(launched, exact), 2 * apart(plain, exact) + 1e-3);
}

}  // namespace perceiver
