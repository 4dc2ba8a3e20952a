// The convention of AttentionResult::log_sum, of every kernel that gives one: -inf for a query
// without any key, and the logarithm of the sum of exponentials for the others.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/kernels/attention/attention_kernels.h"
#include "perceiver/kernels/attention/backward.h"
#include "perceiver/kernels/attention/few_keys_torch.h"
#include "perceiver/kernels/attention/score_blocks_torch.h"
#include "perceiver/kernels/attention/stream.h"
#include "perceiver/kernels/attention/wide_heads_sm90_torch.h"

namespace perceiver {
namespace {

double scale_of(const AttentionInputs& in) {
  return 1.0 / std::sqrt(static_cast<double>(in.q.size(3)));
}

// By the definition, in float64: [B, H, N].
Tensor by_definition(const AttentionInputs& in) {
  const Tensor k = in.k.to(at::kDouble).transpose(2, 3);
  Tensor scores = at::matmul(in.q.to(at::kDouble), k) * scale_of(in);
  scores.masked_fill_(in.kv_mask.logical_not().view({in.k.size(0), 1, 1, -1}), -INFINITY);
  return scores.logsumexp(-1);
}

// Two examples, the first without any key.
AttentionInputs drawn(int64_t heads, int64_t keys, int64_t qk_channels, int64_t v_channels,
                      const at::TensorOptions& options = {}) {
  at::manual_seed(1);
  AttentionInputs in{at::randn({2, heads, 40, qk_channels}, options),
                     at::randn({2, heads, keys, qk_channels}, options),
                     at::randn({2, heads, keys, v_channels}, options),
                     at::rand({2, keys}, options.dtype(at::kFloat)) < 0.7};
  in.kv_mask[0].fill_(false);
  return in;
}

void expect_convention(const Tensor& log_sum, const AttentionInputs& in, double tolerance) {
  const Tensor expected = by_definition(in);
  ASSERT_EQ(log_sum.numel(), expected.numel());
  const Tensor got = log_sum.view(expected.sizes()).to(at::kDouble);
  EXPECT_EQ(got[0].max().item<double>(), -INFINITY);
  EXPECT_LE((got[1] - expected[1]).abs().max().item<double>(), tolerance);
}

TEST(LogSum, OfTheStreamOnACpuIsTheConventions) {
  for (const int64_t keys : {1, 7, 300, 3000}) {  // 3000: in shares
    AttentionInputs in = drawn(2, keys, 16, 8);
    in.kv_mask[1][0].fill_(true);
    Tensor log_sum;
    attend_stream({.q = in.q, .k = in.k, .v = in.v, .kv_mask = in.kv_mask, .scale = scale_of(in)},
                  &log_sum);
    SCOPED_TRACE(keys);
    expect_convention(log_sum, in, 1e-5);
  }
}

// The backward pass on any device, from what the convention says.
void expect_gradients(const AttentionInputs& in, double tolerance) {
  AttentionInputs exact{in.q.to(at::kDouble), in.k.to(at::kDouble), in.v.to(at::kDouble),
                        in.kv_mask};
  for (Tensor* x : {&exact.q, &exact.k, &exact.v}) x->requires_grad_();
  const Tensor out = attend_reference(exact), direction = at::randn_like(out);
  out.backward(direction);
  const AttentionGradients g = attention_gradients(
      in, {out.detach().to(in.q.scalar_type()), by_definition(in).to(at::kFloat)},
      direction.to(in.q.scalar_type()));
  const auto apart = [](const Tensor& ours, const Tensor& theirs) {
    return (ours.to(at::kDouble) - theirs).abs().max().item<double>();
  };
  EXPECT_LE(apart(g.q, exact.q.grad()), tolerance);
  EXPECT_LE(apart(g.k, exact.k.grad()), tolerance);
  EXPECT_LE(apart(g.v, exact.v.grad()), tolerance);
  EXPECT_TRUE(g.q[0].eq(0).all().item<bool>());
}

TEST(LogSum, GivesAQueryWithoutKeysGradientsOfZero) { expect_gradients(drawn(2, 50, 16, 8), 1e-5); }

TEST(LogSum, GivesAQueryWithoutKeysGradientsOfZeroOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  expect_gradients(drawn(2, 50, 16, 8, at::kCUDA), 1e-4);
}

// bfloat16 is exact in its products; sums are float32.
at::TensorOptions of_gpu() { return at::TensorOptions(at::kCUDA).dtype(at::kBFloat16); }

AttentionCase case_of(const AttentionInputs& in) {
  return {.device = in.q.device(),
          .dtype = in.q.scalar_type(),
          .batch = in.q.size(0),
          .heads = in.q.size(1),
          .queries = in.q.size(2),
          .keys = in.k.size(2),
          .qk_channels = in.q.size(3),
          .v_channels = in.v.size(3),
          .masked = true,
          .needs_grad = true};
}

TEST(LogSum, OfWideHeadsIsTheConventions) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const int64_t keys : {300, 20'000}) {  // the latter: split keys
    const AttentionInputs in = drawn(1, keys, 264, 264, of_gpu());
    if (!attend_hopper_refusal(case_of(in)).empty()) {
      GTEST_SKIP() << attend_hopper_refusal(case_of(in));
    }
    Tensor log_sum;
    cuda_attend_hopper(in.q.squeeze(1), in.k.squeeze(1), in.v.squeeze(1), in.kv_mask, scale_of(in),
                       &log_sum);
    SCOPED_TRACE(keys);
    expect_convention(log_sum, in, 1e-3);
  }
}

TEST(LogSum, OfFewKeysIsTheConventions) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const int64_t keys : {256, 700}) {  // the latter: by shares
    const AttentionInputs in = drawn(2, keys, 32, 160, of_gpu());
    if (!attend_resident_refusal(case_of(in)).empty()) {
      GTEST_SKIP() << attend_resident_refusal(case_of(in));
    }
    SCOPED_TRACE(keys);
    expect_convention(cuda_attend_resident(in).log_sum, in, 1e-3);
  }
}

TEST(LogSum, OfBlocksOfScoresIsTheConventions) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const AttentionInputs in = drawn(2, 301, 16, 8, at::kCUDA);
  const Tensor scores = at::matmul(in.q, in.k.transpose(2, 3));
  if (!cuda_scores_take(scores)) GTEST_SKIP() << "built without CUDA kernels";
  expect_convention(cuda_softmax(scores, in.kv_mask, scale_of(in)), in, 1e-4);
}

}  // namespace
}  // namespace perceiver
