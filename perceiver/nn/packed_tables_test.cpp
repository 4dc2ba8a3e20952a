#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/attention.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

constexpr int64_t kIds = 30, kPlaces = 80, kChannels = 24, kQueries = 12;

// An attend to elements that are sums, made (plain) and looked up (by tables).
class TablesTest : public testing::TestWithParam<Semantics> {
 protected:
  void SetUp() override {
    at::manual_seed(19);
    const AttendConfig config{.num_heads = 4, .qk_channels = 16, .v_channels = 40};
    module = CrossAttend(40, kChannels, config, GetParam());
    for (Tensor& p : module->parameters()) {
      if (p.dim() == 1) p.add_(at::randn_like(p), 0.5);
    }
    // Means that are not zero, and vectors of very different lengths.
    sums = {at::randn({kIds, kChannels}) * at::logspace(-2, 1, kIds).unsqueeze(1) + 0.4,
            at::randn({kPlaces, kChannels}) * 0.3 - 0.7,
            at::randint(kIds, {3, kPlaces}, at::kLong)};
    x_q = at::randn({3, kQueries, 40});
  }

  void to(at::Device device, at::ScalarType dtype) {
    module->to(device, dtype);
    sums = {sums.vectors.to(device, dtype), sums.places.to(device, dtype), sums.ids.to(device)};
    x_q = x_q.to(device, dtype);
    for (Tensor* mask : {&masks.q, &masks.kv}) {
      if (mask->defined()) *mask = mask->to(device);
    }
  }

  Tensor by_module() {
    const AttentionKernelScope scope("reference");
    return module(x_q, Array(sums), masks);
  }

  // Of the elements, stored.
  Tensor by_products() { return module(x_q, Array(sums).materialise(), masks); }

  // Often enough for tables to pay.
  Tensor by_tables() {
    Tensor out;
    for (int i = 0; i < 8; ++i) out = module(x_q, Array(sums), masks);
    return out;
  }

  // Tables round otherwise than products do.
  bool are_used() { return largest_difference(by_tables(), by_products()) > 0.0; }

  // As exact as the module is in this dtype, give or take a factor of two.
  void expect_as_exact_as_module(const Tensor& out, double more) {
    const Tensor plain = by_module();
    ASSERT_EQ(out.sizes(), plain.sizes());
    to(x_q.device(), at::kDouble);
    const Tensor exact = by_module();
    EXPECT_LE(largest_difference(out, exact), 2 * largest_difference(plain, exact) + more);
  }

  void mask_some() {
    masks.q = at::rand({3, kQueries}) < 0.7;
    masks.kv = at::rand({3, sums.ids.size(1)}) < 0.7;
    masks.kv[1].fill_(false);
  }

  at::NoGradGuard no_grad;
  CrossAttend module{nullptr};
  LearnedSums sums;
  Tensor x_q;
  AttendMasks masks;
};

TEST_P(TablesTest, AreAsExactAsTheModule) {
  EXPECT_TRUE(are_used());
  expect_as_exact_as_module(by_tables(), 2e-6);
}

TEST_P(TablesTest, TakeMasksOfBothArraysAndFullyMaskedOnes) {
  mask_some();
  expect_as_exact_as_module(by_tables(), 2e-6);
}

TEST_P(TablesTest, TakeFewerElementsThanThereArePlaces) {
  sums.ids = sums.ids.narrow(1, 0, 50);
  mask_some();
  expect_as_exact_as_module(by_tables(), 2e-6);
}

TEST_P(TablesTest, OfTheFormForGpusAreAsExactAsTheModule) {
  mask_some();
  const auto form = pack_for_gpu(module->parts(), at::kFloat);
  expect_as_exact_as_module(form->cross(x_q, Array(sums), masks), 2e-6);
}

TEST_P(TablesTest, InBfloat16AreAsExactAsTheModule) {
  mask_some();
  to(at::kCPU, at::kBFloat16);
  const auto form = pack_for_gpu(module->parts(), at::kBFloat16);
  expect_as_exact_as_module(form->cross(x_q, Array(sums), masks), 1e-3);
}

TEST_P(TablesTest, OnAGpuAreAsExactAsTheModule) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  mask_some();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    to(at::kCUDA, dtype);
    const Tensor out = by_tables();
    expect_as_exact_as_module(out, dtype == at::kFloat ? 1e-5 : 1e-3);
  }
}

TEST_P(TablesTest, AreMadeAgainWhenAParameterHasChanged) {
  for (Tensor p : {sums.vectors, sums.places, module->parameters()[0], module->parameters()[2]}) {
    const Tensor before = by_tables();
    p.add_(at::randn_like(p), 0.3);
    const Tensor after = by_tables();
    EXPECT_GT(largest_difference(before, after), 1e-4);
    EXPECT_LE(largest_difference(after, by_module()), 1e-4);
  }
}

TEST_P(TablesTest, AreMadeOnACpuWhenTheyPay) {
  sums.ids = sums.ids.narrow(0, 0, 1), x_q = x_q.narrow(0, 0, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(module(x_q, Array(sums)).equal(by_products())) << "four times 110 rows is 440";
  }
  EXPECT_FALSE(module(x_q, Array(sums)).equal(by_products())) << "and six times 80 is 480";
}

TEST_P(TablesTest, AreOfTheVectorsThatTheArrayNames) {
  by_tables();
  sums.vectors = at::randn({kIds, kChannels});
  const Tensor others = by_tables();
  EXPECT_TRUE(are_used());
  expect_as_exact_as_module(others, 2e-6);
}

TEST_P(TablesTest, AreOfWholeTextsAlone) {
  by_tables();
  const Array end = Array(sums).slice(1, kPlaces);
  EXPECT_TRUE(module(x_q, end).equal(module(x_q, end.materialise())));
}

TEST_P(TablesTest, AreCheckedAndGiveWayToTheModule) {
  const Tensor usual = by_tables();
  {
    const AttentionKernelScope scope("check");
    EXPECT_TRUE(by_tables().equal(usual));
  }
  const Tensor plain = by_module();
  const PlainAttendScope scope;
  EXPECT_TRUE(by_tables().equal(by_products()));
  EXPECT_LE(largest_difference(by_tables(), plain), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Semantics, TablesTest, testing::Values(kDeepMind, kHuggingFace),
                         [](const testing::TestParamInfo<Semantics>& info) {
                           return info.param.query_mask ? "dm" : "hf";
                         });

TEST(Tables, AreForFewIdsAndPlacesAndHeadsThatAreProjected) {
  const auto tabulated = [](int64_t ids, int64_t places, const AttendConfig& config) {
    const CrossAttend module(40, kChannels, config);
    return tabulates(module->parts(), kQueries,
                     {at::zeros({ids, kChannels}), at::zeros({places, kChannels}),
                      at::zeros({1, places}, at::kLong)});
  };
  const AttendConfig heads{.num_heads = 4, .qk_channels = 16, .v_channels = 40};
  EXPECT_TRUE(tabulated(262, 2048, heads));
  EXPECT_FALSE(tabulated(32000, 512, heads));
  EXPECT_FALSE(tabulated(262, 2048, {.num_heads = 1})) << "keys are absorbed";
}

}  // namespace
}  // namespace perceiver
