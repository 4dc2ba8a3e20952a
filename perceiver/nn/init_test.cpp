#include "perceiver/nn/init.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/nn/attention.h"

namespace perceiver {
namespace {

double stddev(const Tensor& t) { return t.std().item<double>(); }
double largest(const Tensor& t) { return t.abs().max().item<double>(); }

TEST(Init, LearnedVectorsAreCutAtTwoStandardDeviations) {
  at::manual_seed(0);
  const Tensor latents = new_parameter({512, 1024}, kLearnedVectors);
  EXPECT_NEAR(stddev(latents), 0.0176, 0.0001);  // reference: 0.02 before the cut, 0.0176 after
  EXPECT_LE(largest(latents), 0.04);
  EXPECT_GT(largest(latents), 0.039);
}

TEST(Init, AttentionWeightsAreCorrectedForTheCutAndOthersAreNot) {
  at::manual_seed(0);
  const Linear attend(400, 3000, LinearInit::kAttend), plain(400, 3000, LinearInit::kPlain);
  EXPECT_NEAR(stddev(attend->weight), 1.0 / 20, 1e-4);
  EXPECT_NEAR(stddev(plain->weight), 0.8796 / 20, 1e-4);
  EXPECT_EQ(largest(attend->bias), 0.0);
  EXPECT_EQ(largest(Linear(4, 3, LinearInit::kZeros)->weight), 0.0);
}

TEST(Init, EveryProjectionOfAttentionIsCorrected) {
  at::manual_seed(0);
  const CrossAttend attend(400, 400, AttendConfig{});
  for (const auto& p : attend->named_parameters()) {
    if (p.value().dim() == 2) {
      EXPECT_NEAR(stddev(p.value()), 1.0 / 20, 4e-4) << p.key();
    } else {
      const double expected =
          p.key().find("norm") != std::string::npos && p.key().ends_with("weight");
      EXPECT_TRUE(p.value().eq(expected).all().item<bool>()) << p.key();
    }
  }
}

TEST(Init, ConvolutionsFanInIsTheWholeKernel) {
  at::manual_seed(0);
  const Conv2d conv(Conv2dImpl::Shape{.in = 16, .out = 500, .size = 5});
  EXPECT_NEAR(stddev(conv->weight), 0.8796 / 20, 1e-4);
}

TEST(ConstructScope, WithoutMemoryCountsAndAllocatesNothing) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const Linear terabytes(1'000'000, 1'000'000);
  EXPECT_EQ(num_parameters(*terabytes), 1'000'001'000'000);
  EXPECT_TRUE(terabytes->weight.is_meta());
}

TEST(ConstructScope, SizesThatCannotBeCountedAreAnError) {
  const ConstructScope scope(Construct::kWithoutMemory);
  EXPECT_EQ(
      error_of([] { Linear(4'000'000'000, 4'000'000'000); }),
      "[4000000000, 4000000000] is the size of no parameter: no memory is that large; make the "
      "model smaller");
}

TEST(BatchNorm, FirstBatchCountsInFullAndTheVarianceIsBiased) {
  BatchNorm norm(2);
  const Tensor x = at::arange(16, at::kFloat).view({2, 2, 2, 2});
  const Tensor y = norm(x);
  EXPECT_NEAR(y.mean().item<double>(), 0.0, 1e-6);
  const Tensor first = x.select(1, 0);
  EXPECT_NEAR(norm->running_mean[0].item<double>(), first.mean().item<double>(), 1e-5);
  EXPECT_NEAR(norm->running_var[0].item<double>(), first.var(/*unbiased=*/false).item<double>(),
              1e-4);
  // The second batch: hidden = 0.9 * 0.1 a + 0.1 b, over 1 - 0.9^2.
  norm(x + 10);
  const double a = first.mean().item<double>();
  EXPECT_NEAR(norm->running_mean[0].item<double>(), (0.09 * a + 0.1 * (a + 10)) / 0.19, 1e-5);
}

}  // namespace
}  // namespace perceiver
