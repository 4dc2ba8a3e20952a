#include "perceiver/tasks/audioset/augment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace perceiver {
namespace {

const AudioSetConfig kSecond{.num_frames = 25, .num_samples = 8000};

Tensor tone(double hz, int64_t samples) {
  return (at::arange(samples, at::kDouble) * (2.0 * std::numbers::pi * hz / 8000.0))
      .sin()
      .mul(0.5)
      .to(at::kFloat)
      .view({1, -1});
}

int64_t loudest_frequency(const Tensor& samples) {
  return at::fft_rfft(samples[0]).abs().argmax().item<int64_t>();
}

double loudness(const Tensor& samples) { return samples.square().mean().sqrt().item<double>(); }

TEST(SoundAugmentation, NothingIsChangedOrDrawnUnlessItIsAskedFor) {
  const Tensor samples = tone(400.0, 8000);
  Rng rng(1), untouched(1);
  EXPECT_TRUE(augmented(samples, {}, kSecond, rng).equal(samples));
  EXPECT_EQ(rng.bits(), untouched.bits());
}

TEST(SoundAugmentation, SpeedMovesThePitchAsFarAsItSays) {
  const Tensor samples = tone(400.0, 8000);
  int64_t lowest = 8000, highest = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    Rng rng(i);
    const Tensor played = augmented(samples, {.speed = 0.1}, kSecond, rng);
    ASSERT_EQ(played.sizes(), samples.sizes());
    lowest = std::min(lowest, loudest_frequency(played));
    highest = std::max(highest, loudest_frequency(played));
  }
  EXPECT_GE(lowest, 359);
  EXPECT_LT(lowest, 375);
  EXPECT_LE(highest, 441);
  EXPECT_GT(highest, 425);
}

TEST(SoundAugmentation, AShorterSoundBeginsAnywhereAndIsWhole) {
  const Tensor samples = at::constant_pad_nd(at::ones({1, 3000}) * 0.5, {0, 5000});
  int64_t earliest = 8000, latest = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    Rng rng(i);
    const Tensor moved = augmented(samples, {.any_place = true}, kSecond, rng);
    const Tensor heard = moved[0].nonzero().flatten();
    ASSERT_EQ(heard.size(0), 3000);
    earliest = std::min(earliest, heard[0].item<int64_t>());
    latest = std::max(latest, heard[0].item<int64_t>());
  }
  EXPECT_LT(earliest, 500);
  EXPECT_GT(latest, 4500);
  Rng rng(1);
  const Tensor full = tone(400.0, 8000) + 0.001;
  EXPECT_TRUE(augmented(full, {.any_place = true}, kSecond, rng).equal(full));
  const Tensor silence = at::zeros({1, 8000});
  EXPECT_TRUE(augmented(silence, {.any_place = true}, kSecond, rng).equal(silence));
}

TEST(SoundAugmentation, NoiseIsAsLoudAsItSaysAtMostAndAThousandthAtLeast) {
  double softest = 1.0, loudest = 0.0;
  for (uint64_t i = 0; i < 100; ++i) {
    Rng rng(i);
    const double heard = loudness(augmented(at::zeros({1, 8000}), {.noise = 0.05}, kSecond, rng));
    softest = std::min(softest, heard);
    loudest = std::max(loudest, heard);
  }
  EXPECT_NEAR(loudest, 0.05, 0.01);
  EXPECT_NEAR(softest, 0.00005, 0.00001);
}

TEST(SoundAugmentation, MixUpGivesEachExampleAShareOfAnother) {
  const Tensor numbers = at::arange(6, at::kFloat);
  Example batch = {{"sounds", numbers.view({6, 1, 1}).expand({6, 4, 2}).contiguous()},
                   {"labels", at::eye(6)},
                   {"views", at::ones({6}, at::kLong)},
                   {"video", (numbers * 40).view({6, 1}).to(at::kByte)}};
  Rng rng(3);
  mix_sounds(batch, 0.5, rng);
  const Tensor labels = batch.at("labels");
  EXPECT_TRUE(at::allclose(labels.sum(1), at::ones({6})));
  EXPECT_GT(labels.gt(0.0).sum().item<int64_t>(), 6) << "some are mixed";
  // As its labels are, so is the sound: the mean of the numbers by their shares.
  const Tensor expected = labels.matmul(numbers);
  EXPECT_TRUE(at::allclose(batch.at("sounds").mean({1, 2}), expected, 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(batch.at("video").flatten().to(at::kFloat), expected * 40, 0.0, 0.51));
  EXPECT_EQ(batch.at("video").scalar_type(), at::kByte);
  EXPECT_TRUE(batch.at("views").equal(at::ones({6}, at::kLong)));
}

}  // namespace
}  // namespace perceiver
