#include "perceiver/kernels/linear/panel_linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"

namespace perceiver {
namespace {

struct Sizes {
  int64_t rows, in, out;
};
// Rows and columns that fill tiles and do not; threads that share rows and columns.
constexpr Sizes kSizes[] = {{1, 1, 1},       {7, 33, 50},  {64, 322, 512},
                            {300, 512, 322}, {13, 17, 96}, {45, 100, 200}};

class PanelLinearTest : public testing::TestWithParam<Sizes> {
 protected:
  void SetUp() override {
    at::manual_seed(3);
    const auto [rows, in, out] = GetParam();
    x = at::randn({rows, in});
    weight = at::randn({out, in}) / std::sqrt(static_cast<double>(in));
    bias = at::randn({out});
  }
  // How far float32 itself is from the exact product, twice.
  double allowed() const {
    return 2 * largest_difference(at::linear(x, weight, bias), exact()) + 1e-6;
  }
  Tensor exact() const {
    return at::linear(x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble));
  }
  Tensor x, weight, bias;
};

TEST_P(PanelLinearTest, IsAsExactAsALinearLayer) {
  EXPECT_LE(largest_difference(PanelLinear(weight, bias, at::kFloat).forward(x), exact()),
            allowed());
}

TEST_P(PanelLinearTest, AppliesBothFormsOfGelu) {
  const PanelLinear layer(weight, bias, at::kFloat);
  EXPECT_LE(largest_difference(layer.forward(x, Activation::kGeluTanh), at::gelu(exact(), "tanh")),
            allowed());
  EXPECT_LE(largest_difference(layer.forward(x, Activation::kGeluErf), at::gelu(exact(), "none")),
            allowed());
}

TEST_P(PanelLinearTest, AddsToWhatIsThere) {
  const Tensor before = at::randn({x.size(0), weight.size(0)});
  Tensor z = before.clone();
  PanelLinear(weight, bias, at::kFloat).add_to(z, x);
  EXPECT_LE(largest_difference(z, exact() + before), allowed());
}

TEST_P(PanelLinearTest, SumsLeaveWhatTheyAreAddedTo) {
  const Tensor before = at::randn({x.size(0), weight.size(0)}), copy = before.clone();
  const PanelLinear layer(weight, bias, at::kFloat);
  EXPECT_LE(largest_difference(layer.sum(x, before), exact() + before), allowed());
  EXPECT_TRUE(before.equal(copy));
  EXPECT_LE(largest_difference(layer.sum(x), exact()), allowed());
}

TEST_P(PanelLinearTest, MultipliesInBfloat16WhereTheCpuDoes) {
  if (!bf16_tiles()) GTEST_SKIP() << "needs a CPU with bfloat16";
  weight = weight.to(at::kBFloat16), x = x.to(at::kBFloat16);
  const Tensor out = PanelLinear(weight, bias, at::kBFloat16).forward(x);
  EXPECT_LE(largest_difference(out, exact()), exact().abs().max().item<double>() / 200);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PanelLinearTest, testing::ValuesIn(kSizes));

TEST(PanelLinear, GeluStaysFiniteFarFromZero) {
  const Tensor x = at::tensor({-1e4f, -50.0f, -9.0f, 9.0f, 50.0f, 1e4f}).view({-1, 1});
  const PanelLinear identity(at::ones({1, 1}), {}, at::kFloat);
  for (const Activation activation : {Activation::kGeluTanh, Activation::kGeluErf}) {
    const Tensor expected = at::relu(x).view(-1);
    const Tensor out = identity.forward(x, activation).view(-1);
    EXPECT_TRUE(at::allclose(out, expected, 1e-6, 1e-6)) << out;
  }
}

TEST(Normalised, IsLayerNormWithoutScaleAndOffset) {
  at::manual_seed(4);
  for (const int64_t channels : {1, 5, 16, 261, 1280}) {
    const Tensor x = at::randn({70, channels}) * 3 + 1;
    EXPECT_LE(largest_difference(normalised(x, at::kFloat),
                                 at::layer_norm(x.to(at::kDouble), {channels})),
              1e-5);
  }
}

}  // namespace
}  // namespace perceiver
