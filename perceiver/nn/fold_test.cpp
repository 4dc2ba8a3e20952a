#include "perceiver/nn/fold.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/attention.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

TEST(NarrowNorm, IsTheNormOfWhatTheWideMapGives) {
  at::manual_seed(3);
  const auto options = at::TensorOptions(at::kDouble);
  // A wide map, one as wide as its inputs, and one whose bias alone has a direction.
  for (const auto& [wide, inputs] : {std::pair<int64_t, int64_t>{30, 7}, {9, 8}, {12, 1}}) {
    const LinearMap map{at::randn({wide, inputs}, options), at::randn({wide}, options) + 2.0};
    const NarrowNorm narrow = narrow_norm(map);
    const int64_t n = narrow.map.weight.size(0);
    EXPECT_EQ(n, std::min(wide, inputs + 1) + 1);
    for (const double scale : {1.0, 1e-3}) {  // at 1e-3 epsilon matters
      const Tensor x = at::randn({50, inputs}, options);
      const Tensor y = at::linear(x, map.weight, map.bias) * scale;
      const Tensor z = at::linear(x, narrow.map.weight, narrow.map.bias) * scale;
      EXPECT_LE(z.mean(-1).abs().max().item<double>(), 1e-12);
      const Tensor expected = at::layer_norm(y, {wide});
      EXPECT_LE(largest_difference(at::layer_norm(z, {n}).matmul(narrow.back.t()), expected),
                1e-11);
    }
  }
}

class NarrowedTest : public testing::TestWithParam<std::tuple<int64_t, bool>> {
 protected:
  static constexpr int64_t kOwn = 21, kFilling = 39, kLatents = 24;

  NarrowedTest() {
    at::manual_seed(4);
    Semantics semantics = kDeepMind;
    if (std::get<1>(GetParam())) semantics.gelu = Gelu::kErf;
    module = CrossAttend(kOwn + kFilling, kLatents,
                         AttendConfig{.num_heads = 1, .query_residual = false}, semantics);
    at::NoGradGuard no_grad;
    for (Tensor& p : module->parameters()) {
      if (p.dim() == 1) p.add_(at::randn_like(p), 0.5);
    }
    const int64_t outputs = std::get<0>(GetParam());
    parts = module->parts();
    parts.output = {at::randn({outputs, kOwn + kFilling}), at::randn({outputs})};
  }

  Tensor by_modules(at::ScalarType dtype) {
    at::NoGradGuard no_grad;
    const AttentionKernelScope scope("reference");
    module->to(dtype);
    const Tensor queries = at::cat({own, filling.expand({2, own.size(1), -1})}, -1);
    const Tensor z = module(queries.to(dtype), x_kv.to(dtype));
    const Tensor out = at::linear(z, parts.output.weight.to(dtype), parts.output.bias.to(dtype));
    module->to(at::kFloat);
    return out;
  }

  CrossAttend module{nullptr};
  AttendParts parts;
  Tensor own = at::randn({2, 100, kOwn}), filling = at::randn({kFilling}) + 0.3;
  Tensor x_kv = at::randn({2, 30, kLatents}) * 2;
};

TEST_P(NarrowedTest, IsAsExactAsTheModule) {
  at::NoGradGuard no_grad;
  ASSERT_TRUE(narrows(shape_of(parts), kFilling));
  const Tensor plain = by_modules(at::kFloat), exact = by_modules(at::kDouble);
  const auto [narrow, queries] = narrowed(parts, filling);
  EXPECT_EQ(narrow.q->weight.size(1), kOwn + 2);
  EXPECT_EQ(narrow.o->weight.size(0), kLatents + 2);
  const Tensor x_q = at::linear(own, queries.weight, queries.bias);
  for (const auto pack : {pack_for_cpu, pack_for_gpu}) {
    const Tensor packed = pack(narrow, at::kFloat)->cross(x_q, x_kv, {});
    ASSERT_EQ(packed.sizes(), plain.sizes());
    EXPECT_LE(largest_difference(packed, exact),
              2 * largest_difference(plain, exact) + 2e-6 * (kOwn + kFilling));
  }
}

// Three outputs fit the padding behind 26 channels, sixteen do not.
INSTANTIATE_TEST_SUITE_P(Outputs, NarrowedTest,
                         testing::Combine(testing::Values(3, 6, 16), testing::Bool()));

TEST(Narrows, OnlyWhatHasNoResidualAndPutsOutLess) {
  const auto parts_of = [](const AttendConfig& config, int64_t outputs) {
    AttendParts parts = CrossAttend(60, 24, config)->parts();
    if (outputs > 0) parts.output = {at::zeros({outputs, 60}), at::zeros({outputs})};
    return parts;
  };
  const AttendConfig usual{.num_heads = 1, .query_residual = false};
  EXPECT_TRUE(narrows(shape_of(parts_of(usual, 3)), 39));
  EXPECT_FALSE(narrows(shape_of(parts_of(usual, 3)), 2)) << "nothing to leave out of the queries";
  EXPECT_FALSE(narrows(shape_of(parts_of(usual, 60)), 39)) << "the output is as wide as the result";
  EXPECT_FALSE(narrows(shape_of(parts_of(usual, 0)), 39)) << "somebody else wants the result";
  EXPECT_FALSE(narrows(shape_of(parts_of({.num_heads = 1}, 3)), 39))
      << "the result holds the queries";
  EXPECT_FALSE(narrows(shape_of(parts_of({.num_heads = 2, .query_residual = false}, 3)), 39));
}

}  // namespace
}  // namespace perceiver
