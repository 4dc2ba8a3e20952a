#include "perceiver/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

// As autocast's convolutions put it out.
TEST(BatchNorm, StatisticsOfBFloat16AreAsExactAsFloat32) {
  at::manual_seed(1);
  const Tensor x = (at::randn({4, 3, 20, 20}) * 0.5 + 3.0).to(at::kBFloat16);
  const Tensor exact = x.to(at::kDouble);
  const Tensor mean = exact.mean({0, 2, 3});
  const Tensor var = (exact - mean.view({1, -1, 1, 1})).square().mean({0, 2, 3});
  BatchNorm norm(3);
  const Tensor y = norm(x);
  EXPECT_EQ(y.scalar_type(), at::kFloat);  // the parameters'
  // The first batch counts in full. Float32 has 24 bits, bfloat16 would be off by up to 0.4 %.
  EXPECT_TRUE(at::allclose(norm->running_mean.to(at::kDouble), mean, 1e-6, 0.0));
  EXPECT_TRUE(at::allclose(norm->running_var.to(at::kDouble), var, 1e-5, 0.0));
  const auto of_y = y.to(at::kDouble).flatten(2).transpose(0, 1).flatten(1);
  EXPECT_LT(of_y.mean(1).abs().max().item<double>(), 1e-6);
}

TEST(BatchNorm, OfBFloat16ParametersGivesBFloat16) {
  BatchNorm norm(3);
  norm->to(at::kBFloat16);
  const Tensor x = at::randn({2, 3, 4, 4}).to(at::kBFloat16);
  EXPECT_EQ(norm(x).scalar_type(), at::kBFloat16);
  norm->eval();
  EXPECT_EQ(norm(x).scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace perceiver
