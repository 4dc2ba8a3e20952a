#include "perceiver/tasks/imagenet/mix.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/beta.h"
#include "perceiver/tasks/imagenet/data.h"

namespace perceiver {
namespace {

// One pair of pictures, black and white, of classes 1 and 2, mixed so.
MixedPictures black_and_white(double share, const std::vector<int64_t>& box) {
  const Tensor pixels =
      at::stack({at::zeros({3, 4, 4}, at::kByte), at::full({3, 4, 4}, 255, at::kByte)});
  return mixed({{"pixels", pixels.unsqueeze(0)},
                {"labels", at::tensor({1, 2}, at::kLong).view({1, 2, 1})},
                {"share", at::tensor({share}, at::kFloat)},
                {"box", at::tensor(box, at::kLong).unsqueeze(0)}},
               3);
}

TEST(Mixed, MixUpIsTheWeightedMeanOfPicturesAndLabels) {
  const auto [images, targets] = black_and_white(0.25, {0, 0, 4, 4});
  const Tensor black = normalised(at::zeros({3, 4, 4}, at::kByte));
  const Tensor white = normalised(at::full({3, 4, 4}, 255, at::kByte));
  EXPECT_TRUE(images[0].allclose(0.25 * black + 0.75 * white));
  EXPECT_TRUE(targets.equal(at::tensor({0.0, 0.25, 0.75}, at::kFloat).unsqueeze(0)));
}

TEST(Mixed, CutMixShowsTheFirstPictureInTheBoxAndWeighsLabelsByArea) {
  const auto [images, targets] = black_and_white(1.0, {1, 0, 3, 4});
  const Tensor black = normalised(at::zeros({3, 2, 4}, at::kByte));
  const Tensor white = normalised(at::full({3, 1, 4}, 255, at::kByte));
  EXPECT_TRUE(images[0].equal(at::cat({white, black, white}, 1)));
  EXPECT_TRUE(targets.equal(at::tensor({0.0, 0.5, 0.5}, at::kFloat).unsqueeze(0)));
}

TEST(Mixed, TwoPicturesOfOneClassAreOfThatClass) {
  const Tensor pixels = at::zeros({1, 2, 3, 4, 4}, at::kByte);
  Example batch = {{"pixels", pixels}, {"labels", at::full({1, 2, 1}, 2, at::kLong)}};
  Rng rng(1);
  add_mixes(batch, {}, rng);
  EXPECT_TRUE(mixed(batch, 3).targets.equal(at::tensor({0.0, 0.0, 1.0}, at::kFloat).unsqueeze(0)));
}

// Two labels of the first, of which the second has one and another beside it.
TEST(Mixed, SeveralLabelsOfMixedPicturesAddUp) {
  const Tensor pixels = at::zeros({1, 2, 3, 4, 4}, at::kByte);
  const Tensor targets =
      mixed({{"pixels", pixels},
             {"labels", at::tensor({0, 2, -1, 2, 3, -1}, at::kLong).view({1, 2, 3})},
             {"share", at::tensor({0.25}, at::kFloat)},
             {"box", at::tensor({0, 0, 4, 4}, at::kLong).unsqueeze(0)}},
            4)
          .targets;
  EXPECT_TRUE(targets.equal(at::tensor({0.25, 0.0, 1.0, 0.75}, at::kFloat).unsqueeze(0)));
}

TEST(Mixed, APictureAloneStaysAsItIs) {
  const Tensor pixels = at::randint(256, {2, 1, 3, 4, 4}, at::kByte);
  const Example batch = {{"pixels", pixels},
                         {"labels", at::tensor({1, 0}, at::kLong).view({2, 1, 1})}};
  const auto [images, targets] = mixed(batch, 2);
  EXPECT_TRUE(images.equal(normalised(pixels.squeeze(1))));
  EXPECT_TRUE(targets.equal(at::tensor({0.0, 1.0, 1.0, 0.0}, at::kFloat).view({2, 2})));
}

TEST(AddMixes, HalvesABatchBetweenMixUpAndCutMix) {
  Example batch = {{"pixels", at::zeros({8, 2, 3, 4, 4}, at::kByte)}};
  Rng rng(1);
  add_mixes(batch, {}, rng);
  const Tensor whole = at::tensor({0, 0, 4, 4}, at::kLong);
  EXPECT_TRUE(batch["box"].narrow(0, 0, 4).eq(whole).all().item<bool>());
  EXPECT_TRUE(batch["share"].narrow(0, 4, 4).eq(1.0).all().item<bool>());
  EXPECT_FALSE(batch["share"].narrow(0, 0, 4).eq(1.0).all().item<bool>());

  add_mixes(batch, {.mixup = 0.0}, rng);
  EXPECT_TRUE(batch["share"].eq(1.0).all().item<bool>());
  add_mixes(batch, {.cutmix = false}, rng);
  EXPECT_TRUE(batch["box"].eq(whole).all().item<bool>());
}

TEST(Beta, HasItsMoments) {
  constexpr int kDraws = 20'000;
  for (const double parameter : {0.2, 1.0}) {
    double sum = 0.0, squares = 0.0;
    Rng rng(5);
    for (int i = 0; i < kDraws; ++i) {
      const double x = beta(parameter, rng);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    const double variance = 1.0 / (4.0 * (2.0 * parameter + 1.0));
    EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws, variance, 5 * 0.1 / std::sqrt(kDraws));
  }
}

// A box of a uniform share of the area is cut by the border, where its middle is too near.
TEST(CutMix, BoxesAreInsideAndOfEveryArea) {
  constexpr int64_t kSize = 64;
  double least = 1.0, most = 0.0;
  Rng rng(6);
  for (int i = 0; i < 5000; ++i) {
    const auto [share, box] = draw_cutmix(kSize, rng);
    EXPECT_EQ(share, 1.0);
    EXPECT_TRUE(box.top >= 0 && box.left >= 0 && box.bottom <= kSize && box.right <= kSize);
    const double area = static_cast<double>((box.bottom - box.top) * (box.right - box.left));
    least = std::min(least, area / (kSize * kSize));
    most = std::max(most, area / (kSize * kSize));
  }
  EXPECT_LT(least, 0.01);
  EXPECT_GT(most, 0.8);
}

}  // namespace
}  // namespace perceiver
