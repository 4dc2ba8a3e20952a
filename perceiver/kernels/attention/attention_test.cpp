#include "perceiver/kernels/attention/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "perceiver/core/error_test.h"
#include "perceiver/kernels/attention/attention_kernels.h"

namespace perceiver {
namespace {

double max_error(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b).abs().max().item<double>();
}

AttentionInputs to(const AttentionInputs& in, at::ScalarType dtype) {
  return {in.q.to(dtype), in.k.to(dtype), in.v.to(dtype), in.kv_mask};
}

// Shapes of the paper's own attention, cut down in batch and length: heads of 261 to 704
// channels, heads whose keys and values differ, and lengths around the tiles'.
struct Shape {
  const char* name;
  int64_t batch, heads, queries, keys, qk_channels, v_channels;
};
const Shape kShapes[] = {
    {"imagenet_encode", 1, 1, 64, 1000, 261, 261},   {"flow_encode", 1, 1, 100, 999, 322, 322},
    {"multimodal_encode", 2, 1, 33, 1025, 704, 704}, {"language_encode", 2, 8, 32, 300, 32, 160},
    {"flow_decode", 1, 1, 777, 64, 512, 512},        {"imagenet_decode", 2, 1, 1, 512, 1024, 1024},
    {"tile_minus_one", 1, 1, 255, 511, 16, 16},      {"tile", 1, 1, 256, 512, 16, 16},
    {"tile_plus_one", 1, 1, 257, 513, 16, 16},       {"one_key", 2, 2, 5, 1, 16, 8},
};

class AttentionKernelTest : public testing::TestWithParam<std::tuple<Shape, const char*>> {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    const Shape& s = std::get<0>(GetParam());
    in.q = at::randn({s.batch, s.heads, s.queries, s.qk_channels});
    in.k = at::randn({s.batch, s.heads, s.keys, s.qk_channels});
    in.v = at::randn({s.batch, s.heads, s.keys, s.v_channels});
    mask = at::rand({s.batch, s.keys}) < 0.7;
    if (kernel() == std::string("tiled")) return;
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
    for (Tensor* t : {&in.q, &in.k, &in.v, &mask}) *t = t->cuda();
  }

  const char* kernel() { return std::get<1>(GetParam()); }

  // As exact as the definition itself is in the same dtype, give or take a factor of two.
  void expect_as_exact_as_reference(at::ScalarType dtype, double rounding) {
    const AttentionInputs rounded = to(in, dtype);
    const Tensor exact = attend_reference(to(rounded, at::kDouble));
    const double allowed = 2 * max_error(attend_reference(rounded), exact) + rounding;
    EXPECT_LE(max_error(attend(rounded, kernel()), exact), allowed);
  }

  AttentionInputs in;
  Tensor mask;
};

TEST_P(AttentionKernelTest, IsAsExactAsTheDefinition) {
  expect_as_exact_as_reference(at::kFloat, 1e-6);
  expect_as_exact_as_reference(at::kBFloat16, 1e-3);
}

TEST_P(AttentionKernelTest, IsAsExactAsTheDefinitionWithMask) {
  in.kv_mask = mask;
  expect_as_exact_as_reference(at::kFloat, 1e-6);
  expect_as_exact_as_reference(at::kBFloat16, 1e-3);
}

TEST_P(AttentionKernelTest, QueryWithNoKeyGetsZeros) {
  in.kv_mask = at::zeros_like(mask);
  EXPECT_TRUE(attend(in, kernel()).eq(0).all().item<bool>());
}

TEST_P(AttentionKernelTest, LargeScoresDoNotOverflow) {
  in.q.mul_(100);
  EXPECT_TRUE(attend(in, kernel()).isfinite().all().item<bool>());
  expect_as_exact_as_reference(at::kFloat, 1e-4);
}

// Gradients of sum(out * direction) by q, k and v.
std::vector<Tensor> gradients(AttentionInputs in, const char* kernel, const Tensor& direction) {
  for (Tensor* t : {&in.q, &in.k, &in.v}) *t = t->detach().requires_grad_();
  attend(in, kernel).backward(direction);
  return {in.q.grad(), in.k.grad(), in.v.grad()};
}

class AttentionGradientTest : public AttentionKernelTest {};

TEST_P(AttentionGradientTest, IsAsExactAsTheDefinitions) {
  in.kv_mask = mask;
  const Tensor direction = at::randn_like(attend(in, kernel()));
  const auto exact = gradients(to(in, at::kDouble), "reference", direction.to(at::kDouble));
  const auto plain = gradients(in, "reference", direction);
  const auto ours = gradients(in, kernel(), direction);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(max_error(ours[i], exact[i]), 2 * max_error(plain[i], exact[i]) + 1e-5)
        << "of tensor " << i << ", " << at::get_num_threads() << " threads";
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Shape, const char*>>& info) {
  return std::string(std::get<1>(info.param)) + "_" + std::get<0>(info.param).name;
}

// Those that "blocks" is for.
std::vector<Shape> wide_shapes() {
  std::vector<Shape> wide;
  std::ranges::copy_if(kShapes, std::back_inserter(wide),
                       [](const Shape& s) { return std::max(s.qk_channels, s.v_channels) > 256; });
  return wide;
}

INSTANTIATE_TEST_SUITE_P(PaperShapes, AttentionKernelTest,
                         testing::Combine(testing::ValuesIn(kShapes),
                                          testing::Values("library", "tiled")),
                         name_of);

INSTANTIATE_TEST_SUITE_P(PaperShapes, AttentionGradientTest,
                         testing::Combine(testing::ValuesIn(kShapes),
                                          testing::Values("library", "tiled")),
                         name_of);

INSTANTIATE_TEST_SUITE_P(WideHeads, AttentionKernelTest,
                         testing::Combine(testing::ValuesIn(wide_shapes()),
                                          testing::Values("blocks")),
                         name_of);

INSTANTIATE_TEST_SUITE_P(WideHeads, AttentionGradientTest,
                         testing::Combine(testing::ValuesIn(wide_shapes()),
                                          testing::Values("blocks")),
                         name_of);

TEST(AttendReference, MaskedRowsHaveFiniteGradients) {
  AttentionInputs in{at::randn({1, 1, 3, 4}), at::randn({1, 1, 5, 4}), at::randn({1, 1, 5, 2}),
                     at::zeros({1, 5}, at::kBool)};
  in.q.requires_grad_();
  attend(in, "reference").sum().backward();
  EXPECT_TRUE(in.q.grad().eq(0).all().item<bool>());
}

// Outputs and gradients of a kernel that takes bfloat16 alone.
void expect_outputs_as_exact_as_definitions(const AttentionInputs& in, const char* kernel) {
  const Tensor exact = attend_reference(to(in, at::kDouble));
  const double plain = max_error(attend_reference(in), exact);
  EXPECT_LE(max_error(attend(in, kernel), exact), 2 * plain + 1e-3);
}
void expect_gradients_as_exact_as_definitions(const AttentionInputs& in, const char* kernel) {
  const Tensor direction = at::randn_like(attend_reference(to(in, at::kDouble)));
  const auto right = gradients(to(in, at::kDouble), "reference", direction);
  const auto rounded = gradients(in, "reference", direction.to(at::kBFloat16));
  const auto ours = gradients(in, kernel, direction.to(at::kBFloat16));
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_LE(max_error(ours[i], right[i]), 2 * max_error(rounded[i], right[i]) + 1e-3) << i;
  }
}
void expect_as_exact_as_definition(const AttentionInputs& in, const char* kernel) {
  expect_outputs_as_exact_as_definitions(in, kernel);
  expect_gradients_as_exact_as_definitions(in, kernel);
}

// The wide heads that our kernel for Hopper GPUs takes, forward and backward, masked and not.
TEST(AttendHopper, IsAsExactAsTheDefinition) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  at::manual_seed(1);
  for (const int64_t channels : {261, 322}) {
    const auto drawn = [&](int64_t elements) {
      return at::randn({2, 1, elements, channels}, at::kCUDA).to(at::kBFloat16);
    };
    AttentionInputs in{drawn(300), drawn(999), drawn(999)};
    const AttentionCase c{.device = at::Device(at::kCUDA, 0),
                          .dtype = at::kBFloat16,
                          .batch = 2,
                          .queries = 300,
                          .keys = 999,
                          .qk_channels = channels,
                          .v_channels = channels};
    if (!attend_hopper_refusal(c).empty()) GTEST_SKIP() << attend_hopper_refusal(c);
    expect_as_exact_as_definition(in, "hopper");
    in.kv_mask = at::rand({2, 999}, at::kCUDA) < 0.7;
    expect_as_exact_as_definition(in, "hopper");
    in.kv_mask[0].fill_(false);
    expect_as_exact_as_definition(in, "hopper");
  }
}

// Heads of language and of the small models; lengths within, at and beyond what a warp, a pass over
// keys and a block of queries have; queries, keys and values apart, and side by side in rows.
class AttendResident : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
    at::manual_seed(1);
  }

  static AttentionInputs drawn(const Shape& s) {
    const auto rows = [&](int64_t elements, int64_t channels) {
      return at::randn({s.batch, s.heads, elements, channels}, at::kCUDA).to(at::kBFloat16);
    };
    return {rows(s.queries, s.qk_channels), rows(s.keys, s.qk_channels),
            rows(s.keys, s.v_channels)};
  }
};

TEST_P(AttendResident, IsAsExactAsTheDefinition) {
  const Shape& s = GetParam();
  AttentionInputs in = drawn(s);
  expect_as_exact_as_definition(in, "resident");
  in.kv_mask = at::rand({s.batch, s.keys}, at::kCUDA) < 0.7;
  expect_as_exact_as_definition(in, "resident");
  in.kv_mask[0].fill_(false);
  expect_as_exact_as_definition(in, "resident");
  EXPECT_TRUE(attend(in, "resident")[0].eq(0).all().item<bool>());
}

TEST_P(AttendResident, TakesFloat16WithoutGradients) {
  const AttentionInputs in = to(drawn(GetParam()), at::kHalf);
  const Tensor exact = attend_reference(to(in, at::kDouble));
  EXPECT_LE(max_error(attend(in, "resident"), exact),
            2 * max_error(attend_reference(in), exact) + 1e-3);
}

TEST_P(AttendResident, TakesAndGivesRowsSideBySide) {
  const Shape& s = GetParam();
  if (s.queries != s.keys) GTEST_SKIP() << "queries and keys of different elements";
  const int64_t f = s.heads * s.qk_channels, v = s.heads * s.v_channels;
  const Tensor rows =
      at::randn({s.batch, s.keys, 2 * f + v}, at::kCUDA).to(at::kBFloat16).requires_grad_();
  const auto heads = [&](int64_t begin, int64_t channels) {
    return rows.narrow(2, begin, s.heads * channels)
        .unflatten(2, {s.heads, channels})
        .transpose(1, 2);
  };
  const AttentionInputs in{heads(0, s.qk_channels), heads(f, s.qk_channels),
                           heads(2 * f, s.v_channels)};
  const Tensor direction = at::randn_like(in.v);
  attend(in, "resident").backward(direction);
  const auto apart =
      gradients({in.q.contiguous(), in.k.contiguous(), in.v.contiguous()}, "resident", direction);
  const auto put = [](const Tensor& x) { return x.transpose(1, 2).flatten(2); };
  EXPECT_TRUE(rows.grad().equal(at::cat({put(apart[0]), put(apart[1]), put(apart[2])}, 2)));
}

INSTANTIATE_TEST_SUITE_P(Heads, AttendResident,
                         testing::Values(Shape{"language_self", 2, 8, 256, 256, 32, 160},
                                         Shape{"language_some_queries", 2, 3, 77, 200, 32, 160},
                                         Shape{"language_decode", 2, 8, 100, 256, 32, 96},
                                         Shape{"small_language_encode", 2, 8, 128, 256, 16, 32},
                                         Shape{"small_language_self", 2, 8, 128, 128, 16, 32},
                                         Shape{"small_picture_encode", 2, 16, 64, 64, 16, 16},
                                         Shape{"small_picture_self", 2, 8, 64, 64, 32, 32},
                                         Shape{"small_flow_self", 1, 8, 512, 512, 32, 32},
                                         Shape{"sixty_four", 1, 2, 200, 129, 64, 64},
                                         Shape{"one", 2, 2, 1, 1, 16, 16},
                                         Shape{"odd", 2, 2, 33, 31, 16, 32}),
                         [](const auto& info) { return std::string(info.param.name); });

// More keys than fit, where gradients are wanted.
class AttendResidentByShares : public AttendResident {};

TEST_P(AttendResidentByShares, IsAsExactAsTheDefinition) {
  const Shape& s = GetParam();
  AttentionInputs in = drawn(s);
  in.q.requires_grad_();
  const auto expect_exact = [&] {
    expect_outputs_as_exact_as_definitions(in, "resident");
    expect_gradients_as_exact_as_definitions(in, "resident");
  };
  expect_exact();
  in.kv_mask = at::rand({s.batch, s.keys}, at::kCUDA) < 0.7;
  in.kv_mask.narrow(1, 0, 256).fill_(false);  // a share without a key
  expect_exact();
  in.kv_mask[0].fill_(false);
  expect_exact();
  EXPECT_TRUE(attend(in, "resident")[0].eq(0).all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Heads, AttendResidentByShares,
                         testing::Values(Shape{"language_encode", 2, 8, 256, 2048, 32, 160},
                                         Shape{"language_encode_one", 1, 8, 256, 2048, 32, 160},
                                         Shape{"uneven", 2, 3, 77, 601, 32, 160},
                                         Shape{"decode", 2, 2, 300, 900, 32, 96}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AttendResidentOfOneExample, TakesSharesOfKeysWithoutGradientsToo) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  // Keys and values side by side, as a product leaves them.
  const Tensor rows = at::randn({1, 2048, 8 * (32 + 160)}, options);
  const auto heads = [&](int64_t begin, int64_t channels) {
    return rows.narrow(2, begin, 8 * channels).unflatten(2, {8, channels}).transpose(1, 2);
  };
  AttentionInputs in{at::randn({1, 8, 256, 32}, options), heads(0, 32), heads(8 * 32, 160)};
  expect_as_exact_as_definition(in, "resident");
  in.kv_mask = at::rand({1, 2048}, at::kCUDA) < 0.7;
  in.kv_mask.narrow(1, 0, 256).fill_(false);
  expect_as_exact_as_definition(in, "resident");
  in.kv_mask.fill_(false);
  EXPECT_TRUE(attend(in, "resident").eq(0).all().item<bool>());
}

// Many keys, forward alone; lengths at and beyond a tile of keys and a block of queries, and heads
// enough for every multiprocessor.
class AttendNarrow : public AttendResident {
 protected:
  void SetUp() override {
    AttendResident::SetUp();
    if (IsSkipped()) return;
    const std::string refusal = attend_narrow_refusal(case_of(GetParam(), at::kBFloat16));
    if (!refusal.empty()) GTEST_SKIP() << refusal;
  }

  static AttentionCase case_of(const Shape& s, at::ScalarType dtype) {
    return {.device = at::Device(at::kCUDA, 0),
            .dtype = dtype,
            .batch = s.batch,
            .heads = s.heads,
            .queries = s.queries,
            .keys = s.keys,
            .qk_channels = s.qk_channels,
            .v_channels = s.v_channels};
  }

  static AttentionInputs scaled(AttentionInputs in, double by) {
    in.q = in.q * by, in.k = in.k * by;
    return in;
  }
};

TEST_P(AttendNarrow, IsAsExactAsTheDefinition) {
  const AttentionInputs in = drawn(GetParam());
  expect_outputs_as_exact_as_definitions(in, "narrow");
  // Scores so far apart that weights leave what float32 holds, and a key that outweighs all before.
  expect_outputs_as_exact_as_definitions(scaled(in, 8), "narrow");
  in.k.select(2, in.k.size(2) - 1).mul_(100);
  expect_outputs_as_exact_as_definitions(in, "narrow");
}

TEST_P(AttendNarrow, TakesFloat16) {
  const AttentionInputs in = to(drawn(GetParam()), at::kHalf);
  const Tensor exact = attend_reference(to(in, at::kDouble));
  EXPECT_LE(max_error(attend(in, "narrow"), exact),
            2 * max_error(attend_reference(in), exact) + 1e-3);
}

TEST_P(AttendNarrow, TakesRowsSideBySideAndRepeatedQueries) {
  const Shape& s = GetParam();
  const int64_t width = s.heads * s.qk_channels;
  const Tensor rows = at::randn({s.batch, s.keys, 3 * width}, at::kCUDA).to(at::kBFloat16);
  const auto heads = [&](const Tensor& x) {
    return x.unflatten(2, {s.heads, s.qk_channels}).transpose(1, 2);
  };
  const Tensor k = heads(rows.narrow(2, width, width)), v = heads(rows.narrow(2, 2 * width, width));
  const Tensor q = heads(rows.narrow(2, 0, width)).narrow(2, 0, std::min(s.queries, s.keys));
  EXPECT_TRUE(attend({q, k, v}, "narrow")
                  .equal(attend({q.contiguous(), k.contiguous(), v.contiguous()}, "narrow")));
  const Tensor same = q.narrow(0, 0, 1).expand_as(q);
  EXPECT_TRUE(attend({same, k, v}, "narrow").equal(attend({same.contiguous(), k, v}, "narrow")));
}

TEST_P(AttendNarrow, RefusesMasksAndGradients) {
  AttentionCase c = case_of(GetParam(), at::kBFloat16);
  c.masked = true;
  EXPECT_EQ(attend_narrow_refusal(c), "does not take masks of keys");
  c.masked = false, c.needs_grad = true;
  EXPECT_EQ(attend_narrow_refusal(c), "has no gradients");
}

INSTANTIATE_TEST_SUITE_P(Heads, AttendNarrow,
                         testing::Values(Shape{"flow_self", 1, 16, 2048, 2048, 32, 32},
                                         Shape{"several_rounds", 3, 16, 2048, 1024, 32, 32},
                                         Shape{"uneven", 13, 8, 77, 655, 32, 32},
                                         Shape{"few_keys", 7, 8, 300, 512, 32, 32},
                                         Shape{"multimodal_self", 4, 8, 784, 784, 64, 64}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SelectAttentionKernel, ForcedKernelSaysWhyItRefuses) {
  const AttentionCase c{
      .queries = 4, .keys = 4, .qk_channels = 8, .v_channels = 8, .dropout = true};
  EXPECT_EQ(select_attention_kernel(c).name, "reference");
  EXPECT_EQ(attention_refusals(c),
            (std::vector<std::string>{"hopper: needs the GPU, the tensors are on cpu",
                                      "resident: needs the GPU, the tensors are on cpu",
                                      "narrow: needs the GPU, the tensors are on cpu",
                                      "blocks: needs the GPU, the tensors are on cpu",
                                      "library: needs the GPU, the tensors are on cpu",
                                      "tiled: does not drop attention weights"}));
  EXPECT_EQ(error_of([&] { select_attention_kernel(c, "tiled"); }),
            "attention kernel 'tiled' cannot take batch 1 x heads 1, 4 queries, 4 keys:\n"
            "  tiled: does not drop attention weights");
  EXPECT_EQ(error_of([&] { select_attention_kernel(c, "tild"); }),
            "unknown attention kernel 'tild'; known: auto, check, hopper, resident, narrow, "
            "blocks, library, tiled, reference");
}

TEST(CheckAttentionKernel, AsksForTheNameAndTheDeviceAlone) {
  for (const char* name : {"auto", "check", "tiled", "reference"}) {
    check_attention_kernel(name, at::kCPU);
  }
  for (const char* name :
       {"auto", "check", "hopper", "resident", "narrow", "blocks", "library", "reference"}) {
    check_attention_kernel(name, at::kCUDA);
  }
  EXPECT_EQ(error_of([&] { check_attention_kernel("tild", at::kCPU); }),
            "unknown attention kernel 'tild'; known: auto, check, hopper, resident, narrow, "
            "blocks, library, tiled, reference");
  EXPECT_EQ(error_of([&] { check_attention_kernel("narrow", at::kCPU); }),
            "attention kernel 'narrow' needs a GPU, the device is cpu; known there: auto, check, "
            "tiled, reference");
  EXPECT_EQ(error_of([&] { check_attention_kernel("tiled", at::Device(at::kCUDA, 1)); }),
            "attention kernel 'tiled' needs the CPU, the device is cuda:1; known there: auto, "
            "check, hopper, resident, narrow, blocks, library, reference");
}

// A GPU is not asked for memory to find out: inspect tells without one.
TEST(AttentionRefusals, OfAGpuNeedNone) {
  for (const int64_t channels : {32, 261, 322, 512}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
      const AttentionCase c{.device = at::kCUDA,
                            .dtype = dtype,
                            .queries = 4,
                            .keys = 4,
                            .qk_channels = channels,
                            .v_channels = channels};
      EXPECT_NO_THROW(attention_refusals(c));
      EXPECT_NO_THROW(select_attention_kernel(c));
    }
  }
}

TEST(CheckAttention, OneWrongOutputOfManyIsFound) {
  at::manual_seed(1);
  const AttentionInputs in{at::randn({2, 2, 300, 4}), at::randn({2, 2, 50, 4}),
                           at::ones({2, 2, 50, 3})};
  Tensor out = attend(in, "tiled");
  check_attention(in, out, "tiled");
  out[1][1][299][2] += 0.5;
  EXPECT_EQ(error_of([&] { check_attention(in, out, "tiled"); }),
            "attention kernel 'tiled' differs from the reference by 0.5 (allowed 0.0001) for q "
            "[2, 2, 300, 4], k [2, 2, 50, 4], v [2, 2, 50, 3]");
  out[1][1][299][2] = NAN;
  EXPECT_THROW(check_attention(in, out, "tiled"), Error);
}

TEST(AttentionKernelScope, ChoosesAndEnds) {
  const AttentionInputs in{at::randn({1, 1, 3, 4}), at::randn({1, 1, 5, 4}),
                           at::randn({1, 1, 5, 2})};
  const Tensor expected = attend(in);
  {
    AttentionKernelScope scope("nonsense");
    EXPECT_THROW(attend(in), Error);
    AttentionKernelScope inner("check");
    EXPECT_TRUE(attend(in).equal(expected));
  }
  EXPECT_TRUE(attend(in).equal(expected));
}

}  // namespace
}  // namespace perceiver
