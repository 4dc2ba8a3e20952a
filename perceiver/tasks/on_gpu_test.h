// For tests of whole models: what they compute on a GPU in bfloat16, with everything that makes
// them fast, is as exact as what their modules do.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

// Over many draws of weights and inputs: in one, a form may be twice as far from the truth as
// another that is as good.
class ErrorsOnAGpu {
 public:
  static constexpr int64_t kDraws = 12;

  // `run` gives the model inputs of the dtype, on the GPU.
  template <typename Model>
  void add(Model& model, const std::function<Tensor(at::ScalarType)>& run) {
    at::NoGradGuard no_grad;
    model->eval();
    const auto by = [&](const char* kernel, at::ScalarType dtype) {
      const AttentionKernelScope scope(kernel);
      return run(dtype).to(at::kDouble);
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
    of_modules_ += (plain - exact).square().mean().template item<double>();
    of_forms_ += (launched - exact).square().mean().template item<double>();
  }

  void expect_as_exact_as_modules() const {
    EXPECT_LE(std::sqrt(of_forms_), 2 * std::sqrt(of_modules_));
  }

 private:
  double of_modules_ = 0.0, of_forms_ = 0.0;  // squares
};

}  // namespace perceiver
