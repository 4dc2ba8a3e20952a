#include "perceiver/nn/packed.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"
#include "perceiver/core/error_test.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/attention.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

// Every parameter drawn anew: biases start at zero and scales at one, which would hide mistakes.
template <typename Module>
Module drawn(Module module) {
  at::NoGradGuard no_grad;
  for (Tensor& p : module->parameters()) {
    if (p.dim() == 1) p.add_(at::randn_like(p), 0.5);
  }
  return module;
}

struct Case {
  const char* name;
  int64_t queries, keys, q_channels, kv_channels;
  AttendConfig config;
  AttendForm form;
};
const Case kCases[] = {
    {"flow_encode", 20, 700, 64, 42, {.num_heads = 1}, AttendForm::kAbsorbedKeys},
    {"flow_decode",
     700,
     20,
     42,
     64,
     {.num_heads = 1, .query_residual = false},
     AttendForm::kAbsorbedQueries},
    {"residual_decode", 700, 20, 42, 64, {.num_heads = 1}, AttendForm::kAbsorbedQueries},
    {"language_encode",
     12,
     100,
     40,
     24,
     {.num_heads = 4, .qk_channels = 16, .v_channels = 40},
     AttendForm::kPlain},
    {"narrow_head", 9, 50, 40, 64, {.num_heads = 1, .qk_channels = 4}, AttendForm::kPlain},
    {"odd_heads", 12, 100, 42, 26, {.num_heads = 2, .qk_channels = 16}, AttendForm::kPlain},
};

class PackedTest : public testing::TestWithParam<std::tuple<Case, Semantics>> {
 protected:
  void SetUp() override {
    at::manual_seed(5);
    const auto& [c, semantics] = GetParam();
    module = drawn(CrossAttend(c.q_channels, c.kv_channels, c.config, semantics));
    x_q = at::randn({3, c.queries, c.q_channels}) * 2 + 0.3;
    x_kv = at::randn({3, c.keys, c.kv_channels}) * 2 - 0.3;
  }

  Tensor by(const char* kernel) {
    at::NoGradGuard no_grad;
    const AttentionKernelScope scope(kernel);
    return module(x_q, x_kv, masks);
  }

  // As exact as the module is in float32, give or take a factor of two.
  void expect_as_exact_as_module() {
    const Tensor plain = by("reference"), packed = by("auto");
    module->to(at::kDouble);
    x_q = x_q.to(at::kDouble), x_kv = x_kv.to(at::kDouble);
    const Tensor exact = by("reference");
    EXPECT_GT(largest_difference(plain, packed), 0.0) << "the packed form was not used";
    EXPECT_LE(largest_difference(packed, exact), 2 * largest_difference(plain, exact) + 2e-6);
  }

  CrossAttend module{nullptr};
  Tensor x_q, x_kv;
  AttendMasks masks;
};

TEST_P(PackedTest, CrossAttendIsAsExactAsTheModule) { expect_as_exact_as_module(); }

TEST_P(PackedTest, CrossAttendTakesMasksOfBothArraysAndFullyMaskedOnes) {
  masks.q = at::rand({3, x_q.size(1)}) < 0.7;
  masks.kv = at::rand({3, x_kv.size(1)}) < 0.7;
  masks.kv[1].fill_(false);
  expect_as_exact_as_module();
}

// The form for GPUs is made of operations that every device has.
TEST_P(PackedTest, FormForGpusIsAsExactAsTheModule) {
  masks.q = at::rand({3, x_q.size(1)}) < 0.7;
  masks.kv = at::rand({3, x_kv.size(1)}) < 0.7;
  masks.kv[1].fill_(false);
  const Tensor plain = by("reference");
  Tensor packed;
  {
    at::NoGradGuard no_grad;
    packed = pack_for_gpu(module->parts(), at::kFloat)->cross(x_q, x_kv, masks);
  }
  module->to(at::kDouble);
  x_q = x_q.to(at::kDouble), x_kv = x_kv.to(at::kDouble);
  const Tensor exact = by("reference");
  EXPECT_LE(largest_difference(packed, exact), 2 * largest_difference(plain, exact) + 2e-6);
}

TEST_P(PackedTest, QueriesMayBeTheSameForAllExamples) {
  x_q = x_q.narrow(0, 0, 1).expand({3, -1, -1});
  at::NoGradGuard no_grad;
  const auto form = pack_for_gpu(module->parts(), at::kFloat);
  EXPECT_LE(
      largest_difference(form->cross(x_q, x_kv, masks), form->cross(x_q.contiguous(), x_kv, masks)),
      1e-5);
}

constexpr auto kForms = {pack_for_cpu, pack_for_gpu};

TEST_P(PackedTest, LearnedRowsAreProjectedOnceForAllTheirSlices) {
  at::NoGradGuard no_grad;
  for (const auto pack : kForms) {
    const Tensor rows = x_q[0].clone();
    const auto form = pack(module->parts(), at::kFloat);
    const auto expect_as_stored = [&](const Array& q, const char* what) {
      EXPECT_LE(largest_difference(form->cross(q, x_kv, {}),
                                   form->cross(q.materialise().contiguous(), x_kv, {})),
                1e-5)
          << what;
    };
    const Array all(LearnedRows{rows}, x_kv.size(0));
    const int64_t count = rows.size(0);
    for (const char* what : {"the first time", "again"}) expect_as_stored(all, what);
    expect_as_stored(all.slice(0, (count + 1) / 2), "the first half");
    expect_as_stored(all.slice(count / 2, count), "the last half");
    expect_as_stored(Array(LearnedRows{rows.clone().mul_(2.0)}, x_kv.size(0)), "others");
    expect_as_stored(all, "the first ones again");
    rows.copy_(at::randn_like(rows));
    expect_as_stored(all, "changed ones");
  }
}

TEST_P(PackedTest, OutputLayerIsAsBehindTheModule) {
  const int64_t channels = x_q.size(2);
  const auto expect_as_behind = [&](int64_t outputs) {
    const LinearMap layer{at::randn({outputs, channels}), at::randn({outputs})};
    AttendParts parts = module->parts();
    parts.output = layer;
    at::NoGradGuard no_grad;
    const Tensor plain = at::linear(by("reference"), layer.weight, layer.bias);
    CrossAttend wide = module;
    wide->to(at::kDouble);
    const Tensor exact = [&] {
      const AttentionKernelScope scope("reference");
      const Tensor z = wide(x_q.to(at::kDouble), x_kv.to(at::kDouble), masks);
      return at::linear(z, layer.weight.to(at::kDouble), layer.bias.to(at::kDouble));
    }();
    wide->to(at::kFloat);
    for (const auto pack : kForms) {
      const Tensor packed = pack(parts, at::kFloat)->cross(x_q, x_kv, masks);
      ASSERT_EQ(packed.sizes(), plain.sizes());
      EXPECT_LE(largest_difference(packed, exact),
                2 * largest_difference(plain, exact) + 2e-6 * channels);
    }
  };
  // Of 42 channels six outputs fit the padding behind them, seven do not.
  for (const int64_t outputs :
       {int64_t{2}, int64_t{5}, int64_t{6}, int64_t{7}, channels - 3, channels + 5}) {
    expect_as_behind(outputs);
  }
  masks.q = at::rand({3, x_q.size(1)}) < 0.7;
  masks.kv = at::rand({3, x_kv.size(1)}) < 0.7;
  masks.kv[1].fill_(false);
  expect_as_behind(2);
}

TEST_P(PackedTest, OnAGpuBfloat16IsAsExactAsTheModule) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  module->to(at::kCUDA, at::kBFloat16);
  x_q = x_q.to(at::kCUDA, at::kBFloat16), x_kv = x_kv.to(at::kCUDA, at::kBFloat16);
  masks.q = at::rand({3, x_q.size(1)}, at::kCUDA) < 0.7;
  masks.kv = at::rand({3, x_kv.size(1)}, at::kCUDA) < 0.7;
  masks.kv[1].fill_(false);
  const Tensor plain = by("reference"), packed = by("auto");
  module->to(at::kDouble);
  x_q = x_q.to(at::kDouble), x_kv = x_kv.to(at::kDouble);
  const Tensor exact = by("reference");
  EXPECT_LE(largest_difference(packed, exact), 2 * largest_difference(plain, exact) + 1e-3);
}

TEST_P(PackedTest, ChosenFormIsTheOneWithFewestProducts) {
  const Case& c = std::get<0>(GetParam());
  const AttendParts parts = module->parts();
  EXPECT_EQ(cheapest_form(shape_of(parts), c.queries, c.keys), c.form);
}

TEST_P(PackedTest, ChangedParametersAreSeen) {
  const Tensor before = by("auto");
  {
    at::NoGradGuard no_grad;
    for (Tensor& p : module->parameters()) p.mul_(1.1);
  }
  const Tensor after = by("auto");
  EXPECT_GT(largest_difference(before, after), 1e-3);
  EXPECT_LE(largest_difference(after, by("reference")), 1e-4);
}

TEST_P(PackedTest, CheckComparesWithTheModule) {
  EXPECT_EQ(largest_difference(by("check"), by("auto")), 0.0);
}

// Where elements are of a grid the longer array need not be stored; the result is as it was.
class PackedGridTest : public PackedTest {
 protected:
  void SetUp() override {
    PackedTest::SetUp();
    Tensor& longer = x_q.size(1) > x_kv.size(1) ? x_q : x_kv;
    const int64_t content = longer.size(2) / 3, places = longer.size(2) - content;
    const int64_t width = 10, lines = (longer.size(1) + width - 1) / width;
    grid = Array(OnGrid{at::randn({3, longer.size(1), content}) * 2 + 1,
                        std::make_shared<GridPositions>(grid_places(
                            at::randn({lines, places}), at::randn({width, places}) - 1))});
    longer = grid.materialise();
  }

  Tensor by_grid(const char* kernel) {
    at::NoGradGuard no_grad;
    const AttentionKernelScope scope(kernel);
    const bool queries = x_q.size(1) > x_kv.size(1);
    return module(queries ? grid : x_q, queries ? x_kv : grid, masks);
  }

  void expect_as_with_elements() {
    const Tensor plain = by("reference"), packed = by_grid("auto");
    EXPECT_EQ(largest_difference(by_grid("check"), packed), 0.0);
    EXPECT_EQ(largest_difference(by_grid("reference"), plain), 0.0);
    module->to(at::kDouble);
    x_q = x_q.to(at::kDouble), x_kv = x_kv.to(at::kDouble);
    EXPECT_LE(largest_difference(packed, by("reference")),
              2 * largest_difference(plain, by("reference")) + 2e-6);
  }

  Array grid;
};

TEST_P(PackedGridTest, IsAsExactAsTheModuleOnItsElements) { expect_as_with_elements(); }

TEST_P(PackedGridTest, TakesMasks) {
  masks.q = at::rand({3, x_q.size(1)}) < 0.7;
  masks.kv = at::rand({3, x_kv.size(1)}) < 0.7;
  masks.kv[1].fill_(false);
  expect_as_with_elements();
}

TEST_P(PackedGridTest, SlicesOfQueriesAreThoseOfTheWhole) {
  if (x_q.size(1) < x_kv.size(1)) GTEST_SKIP() << "queries are not of the grid";
  const Tensor whole = by_grid("auto");
  at::NoGradGuard no_grad;
  std::vector<Tensor> slices;
  for (int64_t begin = 0; begin < whole.size(1); begin += 77) {
    const int64_t end = std::min(begin + 77, whole.size(1));
    slices.push_back(module(grid.slice(begin, end), x_kv));
  }
  // A slice may be short enough for another form.
  EXPECT_LE(largest_difference(at::cat(slices, 1), whole), 1e-4);
}

std::string name_of(const testing::TestParamInfo<std::tuple<Case, Semantics>>& info) {
  const bool hugging_face = !std::get<1>(info.param).query_mask;
  return std::string(std::get<0>(info.param).name) + (hugging_face ? "_hf" : "_dm");
}

INSTANTIATE_TEST_SUITE_P(Cases, PackedTest,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(kDeepMind, kHuggingFace)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Cases, PackedGridTest,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(kDeepMind, kHuggingFace)),
                         name_of);

TEST(PackedSelfAttend, IsAsExactAsTheModule) {
  at::manual_seed(6);
  SelfAttend module = drawn(
      SelfAttend(48, AttendConfig{.num_heads = 4, .qk_channels = 16, .v_channels = 64}, kDeepMind));
  const Tensor z = at::randn({2, 70, 48}) + 0.5;
  at::NoGradGuard no_grad;
  const auto by = [&](const char* kernel, const Tensor& x) {
    const AttentionKernelScope scope(kernel);
    return module(x);
  };
  const Tensor packed = by("auto", z), plain = by("reference", z);
  const auto counted = attentions_of([&] { by("auto", z); });
  ASSERT_EQ(counted.size(), 1);
  EXPECT_EQ(counted[0].kernel, "streamed") << "the packed form was not used";
  const Tensor for_gpus = pack_for_gpu(module->parts(), at::kFloat)->self({z}).rows;
  module->to(at::kDouble);
  const Tensor exact = by("reference", z.to(at::kDouble));
  EXPECT_LE(largest_difference(packed, exact), 2 * largest_difference(plain, exact) + 2e-6);
  EXPECT_LE(largest_difference(for_gpus, exact), 2 * largest_difference(plain, exact) + 2e-6);
}

TEST(PackedSelfAttend, OnAGpuBfloat16IsAsExactAsTheModule) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  at::manual_seed(7);
  // Language's, and one whose channels need padding.
  const std::pair<int64_t, AttendConfig> cases[] = {
      {1280, {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}},
      {42, {.num_heads = 2, .qk_channels = 16, .v_channels = 32}}};
  for (const auto& [channels, config] : cases) {
    SelfAttend module = drawn(SelfAttend(channels, config, kDeepMind));
    module->to(at::kCUDA, at::kBFloat16);
    const Tensor z =
        at::randn({3, 256, channels}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16)) + 0.5;
    at::NoGradGuard no_grad;
    const auto by = [&](const char* kernel, const Tensor& x) {
      const AttentionKernelScope scope(kernel);
      return module(x);
    };
    const Tensor packed = by("auto", z), plain = by("reference", z);
    module->to(at::kDouble);
    const Tensor exact = by("reference", z.to(at::kDouble));
    EXPECT_LE(largest_difference(packed, exact), 2 * largest_difference(plain, exact) + 1e-3);
  }
}

TEST(PackedSelfAttend, GivesWayWhereGradientsOrQueriesAreWanted) {
  SelfAttend module(16, AttendConfig{.num_heads = 2});
  const Tensor z = at::randn({1, 5, 16});
  module(z).sum().backward();
  EXPECT_TRUE(module->parameters()[0].grad().defined());
  int64_t seen = 0;
  const AttentionObserver observer([&](const AttentionInputs&) {
    ++seen;
    return Observed::kGoOn;
  });
  at::NoGradGuard no_grad;
  module(z);
  EXPECT_EQ(seen, 1);
}

TEST(PackedSelfAttend, IsCounted) {
  SelfAttend module(16, AttendConfig{.num_heads = 2});
  int64_t queries = 0;
  const AttentionCounter counter(
      [&](const AttentionCase& c, std::string_view) { queries += c.queries; });
  at::NoGradGuard no_grad;
  module(at::randn({1, 5, 16}));
  EXPECT_EQ(queries, 5);
}

TEST(CheckPacked, SaysHowFarApart) {
  EXPECT_EQ(error_of([] { check_packed(at::ones({2}), at::zeros({2})); }),
            "the packed form of an attend differs from its module by 1 (allowed 1e-07)");
}

}  // namespace
}  // namespace perceiver
