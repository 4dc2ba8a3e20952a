#include "perceiver/kernels/product.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/kernels/cuda/product.h"

namespace perceiver {
namespace {

double apart(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

enum class After { kNothing, kResidual, kGelu };

Product drawn(at::IntArrayRef x, int64_t out, After after, const at::TensorOptions& options) {
  at::manual_seed(11);
  std::vector<int64_t> result = x.vec();
  result.back() = out;
  return {.x = at::randn(x, options),
          .weight = at::randn({out, x.back()}, options),
          .bias = at::randn({out}, options),
          .residual = after == After::kResidual ? at::randn(result, options) : Tensor(),
          .gelu = after == After::kGelu};
}

Tensor by_definition(const Product& p, at::ScalarType dtype) {
  const Tensor out = at::linear(p.x.to(dtype), p.weight.to(dtype), p.bias.to(dtype));
  if (p.gelu) return at::gelu(out, "tanh");
  return p.residual.defined() ? out + p.residual.to(dtype) : out;
}

class ProductTest : public testing::TestWithParam<After> {};

TEST_P(ProductTest, IsALinearLayerAndWhatFollows) {
  const Product p = drawn({2, 5, 7}, 3, GetParam(), at::kFloat);
  EXPECT_LE(apart(multiplied(p), by_definition(p, at::kDouble)), 1e-5);
}

TEST_P(ProductTest, OnAGpuIsAsExactAsLibTorchs) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  // Rows and channels of all kinds: whole tiles, few, not multiples of eight, none.
  for (const auto& [x, out] :
       std::vector<std::pair<std::vector<int64_t>, int64_t>>{{{2, 256, 128}, 192},
                                                             {{3, 50, 40}, 8},
                                                             {{1, 7, 42}, 24},
                                                             {{2, 9, 16}, 5},
                                                             {{0, 4, 8}, 8}}) {
    const Product p = drawn(x, out, GetParam(), at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
    const Tensor exact = by_definition(p, at::kDouble), result = multiplied(p);
    ASSERT_EQ(result.sizes(), exact.sizes());
    if (result.numel() == 0) continue;
    EXPECT_LE(apart(result, exact), 2 * apart(by_definition(p, at::kBFloat16), exact) + 1e-3);
  }
}

TEST_P(ProductTest, OnAGpuTakesRowsApart) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  Product p = drawn({2, 30, 64}, 32, GetParam(), options);
  const Tensor expected = multiplied(p);
  const auto apart_by = [&](const Tensor& x, int64_t more) {
    return at::constant_pad_nd(x, {0, more}, 7.0).narrow(2, 0, x.size(2));
  };
  p.x = apart_by(p.x, 16);
  if (p.residual.defined()) p.residual = apart_by(p.residual, 8);
  EXPECT_TRUE(multiplied(p).equal(expected));
}

// The quickest is taken, which may be another one next time.
TEST_P(ProductTest, OnHopperAllAlgorithmsGiveTheSameBits) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  for (const auto& [x, out] :
       std::vector<std::pair<std::vector<int64_t>, int64_t>>{{{1, 256, 1280}, 1280},
                                                             {{8, 1024, 1280}, 1280},
                                                             {{1, 2048, 512}, 1536},
                                                             {{1, 9000, 328}, 8}}) {
    const std::vector<Tensor> all = cuda_multiplied_by_each(drawn(x, out, GetParam(), options));
    EXPECT_GT(all.size(), 1u);
    for (const Tensor& other : all) EXPECT_TRUE(other.equal(all.front()));
  }
}

INSTANTIATE_TEST_SUITE_P(After, ProductTest,
                         testing::Values(After::kNothing, After::kResidual, After::kGelu));

}  // namespace
}  // namespace perceiver
