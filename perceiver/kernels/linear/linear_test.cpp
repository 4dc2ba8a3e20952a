#include "perceiver/kernels/linear/linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/linear/cublaslt_torch.h"
#include "perceiver/kernels/linear/gemm_sm90_torch.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_torch.h"

namespace perceiver {
namespace {

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
  EXPECT_LE(largest_difference(multiplied(p), by_definition(p, at::kDouble)), 1e-5);
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
    EXPECT_LE(largest_difference(result, exact),
              2 * largest_difference(by_definition(p, at::kBFloat16), exact) + 1e-3);
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

// A residual product and the normed one behind it, [..., K] -> [..., N] -> [..., E].
struct Pair {
  Product first;
  Tensor weight, bias;  // of the second
  int64_t channels;     // of N, that are not padding
};

Pair drawn_pair(at::IntArrayRef x, int64_t channels, int64_t padded, int64_t end,
                const at::TensorOptions& options) {
  Pair pair{.first = drawn(x, padded, After::kResidual, options),
            .weight = at::randn({end, padded}, options) / std::sqrt(static_cast<double>(padded)),
            .bias = at::randn({end}, options),
            .channels = channels};
  const int64_t padding = padded - channels;
  pair.first.weight.narrow(0, channels, padding).zero_();
  pair.first.bias.narrow(0, channels, padding).zero_();
  pair.first.residual.narrow(-1, channels, padding).zero_();
  pair.weight.narrow(1, channels, padding).zero_();
  return pair;
}

Tensor by_definition(const Pair& p, const Tensor& rows, at::ScalarType dtype, bool gelu) {
  const Tensor normed =
      at::layer_norm(rows.to(dtype).narrow(-1, 0, p.channels), {p.channels}, {}, {}, 1e-5);
  const Tensor out =
      at::linear(normed, p.weight.narrow(1, 0, p.channels).to(dtype), p.bias.to(dtype));
  return gelu ? at::gelu(out, "tanh") : out;
}

Tensor multiplied_pair(const Pair& p, const MeasuredRows& rows, bool gelu) {
  return multiplied_normed(rows, {p.weight, p.bias, p.weight.to(at::kFloat).sum(1), p.channels},
                           gelu);
}

TEST(NormedProduct, IsALinearLayerOfNormalisedRows) {
  for (const bool gelu : {false, true}) {
    const Pair p = drawn_pair({2, 5, 7}, 9, 16, 3, at::kFloat);
    const MeasuredRows rows = multiplied_and_measured(p.first, p.channels);
    EXPECT_FALSE(rows.moments.defined());
    EXPECT_LE(largest_difference(rows.rows, by_definition(p.first, at::kDouble)), 1e-5);
    EXPECT_LE(largest_difference(multiplied_pair(p, rows, gelu),
                                 by_definition(p, rows.rows, at::kDouble, gelu)),
              1e-5);
  }
}

// Rows with no mean to speak of, and rows whose mean is fifty times what they vary by.
TEST(NormedProduct, OnAGpuIsAsExactAsLibTorchs) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  struct Sizes {
    std::vector<int64_t> x;
    int64_t channels, padded, end;
  };
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  for (const Sizes& s : {Sizes{{1, 256, 1280}, 1280, 1280, 1792},
                         {{32, 256, 1280}, 1280, 1280, 1280},
                         {{1, 2048, 512}, 512, 512, 1536},
                         {{6, 2048, 512}, 512, 512, 512},
                         {{3, 50, 40}, 322, 328, 24},
                         {{3, 50, 40}, 64, 64, 20}}) {
    for (const double mean : {0.0, 50.0}) {
      Pair p = drawn_pair(s.x, s.channels, s.padded, s.end, options);
      p.first.weight /= std::sqrt(static_cast<double>(s.x.back()));
      p.first.residual.narrow(-1, 0, s.channels) += mean;
      const MeasuredRows rows = multiplied_and_measured(p.first, p.channels);
      const Tensor exact_rows = by_definition(p.first, at::kDouble);
      EXPECT_LE(largest_difference(rows.rows, exact_rows),
                2 * largest_difference(by_definition(p.first, at::kBFloat16), exact_rows) + 1e-3);
      for (const bool gelu : {false, true}) {
        const Tensor exact = by_definition(p, rows.rows, at::kDouble, gelu);
        EXPECT_LE(
            largest_difference(multiplied_pair(p, rows, gelu), exact),
            2 * largest_difference(by_definition(p, rows.rows, at::kBFloat16, gelu), exact) + 1e-3)
            << s.padded << " channels, mean " << mean;
      }
    }
  }
}

TEST(NormedProduct, OnHopperLeavesTheMomentsOfItsRows) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const Pair p = drawn_pair({2, 100, 64}, 322, 328, 8, options);
  const MeasuredRows rows = multiplied_and_measured(p.first, p.channels);
  if (!cuda_measured_product_takes(p.first)) GTEST_SKIP() << "needs compute capability 9.0";
  const Tensor wide = rows.rows.to(at::kDouble).view({200, 328});
  for (int64_t part = 0; part < rows.moments.size(1); ++part) {
    const int64_t begin = part * rows.part, width = std::min(rows.part, p.channels - begin);
    const Tensor values = wide.narrow(1, begin, width), mean = values.mean(1, true);
    EXPECT_LE(largest_difference(rows.moments.select(1, part).select(1, 0), mean.squeeze(1)), 1e-5);
    const Tensor squares = (values - mean).square().sum(1);
    EXPECT_LE(largest_difference(rows.moments.select(1, part).select(1, 1) / squares,
                                 at::ones_like(squares)),
              1e-5);
  }
}

// riders + GELU(LayerNorm(x) widen^T + bias) narrow^T + bias, rounded at each step.
Tensor by_definition(const Tensor& x, const NarrowMlpLayers& l, const Tensor& riders,
                     at::ScalarType dtype) {
  const NormedLayer& widen = l.widen;
  const Tensor normed =
      at::layer_norm(x.narrow(-1, 0, widen.channels).to(dtype), {widen.channels}, {}, {}, 1e-5);
  const Tensor weight = widen.weight.narrow(1, 0, widen.channels).to(dtype);
  const Tensor hidden = at::gelu(at::linear(normed, weight, widen.bias.to(dtype)), "tanh");
  return riders.to(dtype) + at::linear(hidden, l.narrow.to(dtype), l.narrow_bias.to(dtype));
}

TEST(NarrowMlp, OnHopperIsAsExactAsItsProducts) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  struct Sizes {
    std::vector<int64_t> x;
    int64_t channels, hidden, outputs;
  };
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    const auto options = at::TensorOptions(at::kCUDA).dtype(dtype);
    for (const Sizes& s : {Sizes{{2, 1000, 328}, 322, 328, 2},
                           {{1, 1, 328}, 322, 328, 2},
                           {{3, 333, 264}, 261, 264, 2},
                           {{2, 100, 64}, 64, 128, 6}}) {
      at::manual_seed(3);
      const int64_t in = s.x.back();
      const Tensor x = at::randn(s.x, options) + 0.5;
      Tensor weight = at::randn({s.hidden, in}, options) / std::sqrt(static_cast<double>(in));
      weight.narrow(1, s.channels, in - s.channels).zero_();
      const NarrowMlpLayers layers{
          {weight, at::randn({s.hidden}, options), weight.sum({1}, false, at::kFloat), s.channels},
          at::randn({s.outputs, s.hidden}, options) / std::sqrt(static_cast<double>(s.hidden)),
          at::randn({s.outputs}, options)};
      if (!cuda_narrow_mlp_takes(layers)) GTEST_SKIP() << "needs compute capability 9.0";
      std::vector<int64_t> sizes = s.x;
      sizes.back() = 8;
      const Tensor riders = at::randn(sizes, options).narrow(-1, 1, s.outputs);
      const Tensor exact = by_definition(x, layers, riders, at::kDouble);
      const Tensor got = cuda_narrow_mlp(x, layers, cuda_packed_narrow_mlp(layers), riders);
      EXPECT_LE(largest_difference(got, exact),
                2 * largest_difference(by_definition(x, layers, riders, dtype), exact) + 1e-3)
          << dtype << ", " << s.channels << " channels";
    }
  }
}

}  // namespace
}  // namespace perceiver
