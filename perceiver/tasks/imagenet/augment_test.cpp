#include "perceiver/tasks/imagenet/augment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/imagenet/data.h"

namespace perceiver {
namespace {

ImageNetConfig model_of(int64_t size, double crop = 1.0) {
  ImageNetConfig config;
  config.image_size = size;
  config.crop = crop;
  return config;
}

constexpr AugmentConfig kShiftAlone = {
    .crop = TrainCrop::kShifted, .shift = 2, .flip = false, .randaugment = {.layers = 0}};

TEST(RandomCrop, HasAnAreaAndAnAspectInRange) {
  double least = 1.0, most = 0.0;
  Rng rng(1);
  for (int i = 0; i < 2000; ++i) {
    const auto box = random_crop({300, 400}, 0.08, rng);
    ASSERT_TRUE(box);
    const auto height = static_cast<double>(box->bottom - box->top);
    const auto width = static_cast<double>(box->right - box->left);
    EXPECT_GE(box->top, 0);
    EXPECT_GE(box->left, 0);
    EXPECT_LE(box->bottom, 300);
    EXPECT_LE(box->right, 400);
    // Half a pixel of rounding at each end.
    EXPECT_GE((width + 0.5) / height, 3.0 / 4.0);
    EXPECT_LE((width - 0.5) / height, 4.0 / 3.0);
    least = std::min(least, height * width / (300.0 * 400.0));
    most = std::max(most, height * width / (300.0 * 400.0));
  }
  EXPECT_GE(least, 0.1);  // what a box must cover
  EXPECT_LT(least, 0.11);
  EXPECT_GT(most, 0.95);
}

TEST(RandomCrop, GivesUpOnAPictureTooNarrowForTheAspects) {
  Rng rng(1);
  EXPECT_FALSE(random_crop({1, 1000}, 0.08, rng));
  EXPECT_FALSE(random_crop({1000, 10}, 0.5, rng));
}

TEST(Augment, FallsBackToTheEvaluatedPart) {
  const Tensor pixels = at::randint(256, {3, 10, 400}, at::kByte);
  const ImageNetConfig model = model_of(8, 0.875);
  Rng rng(1);
  const Tensor augmented =
      augment(pixels, {.flip = false, .randaugment = {.layers = 0}}, model, rng);
  EXPECT_TRUE(augmented.equal(evaluation_crop(pixels, model)));
}

// Also where no crop was found, where it has the size already and where few pixels are shifted: a
// batch is of one type.
TEST(Augment, ByTensorFlowsBicubicGivesFloats) {
  ImageNetConfig model = model_of(24, 0.875);
  model.semantics.bicubic = Bicubic::kTensorFlow;
  for (const TrainCrop crop : {TrainCrop::kResized, TrainCrop::kShifted}) {
    for (const ImageSize size : {ImageSize{24, 24}, {1, 400}, {90, 61}}) {
      const Tensor pixels = at::randint(256, {3, size.height, size.width}, at::kByte);
      Rng rng(2);
      const Tensor augmented = augment(pixels, {.crop = crop}, model, rng);
      EXPECT_EQ(augmented.sizes(), (std::vector<int64_t>{3, 24, 24}));
      EXPECT_EQ(augmented.scalar_type(), at::kFloat);
    }
  }
}

TEST(Augment, GivesTheModelsSize) {
  for (const TrainCrop crop : {TrainCrop::kResized, TrainCrop::kShifted}) {
    for (const ImageSize size : {ImageSize{32, 32}, {1, 1}, {20, 50}, {90, 61}}) {
      const Tensor pixels = at::randint(256, {3, size.height, size.width}, at::kByte);
      Rng rng(2);
      const Tensor augmented = augment(pixels, {.crop = crop}, model_of(24, 0.875), rng);
      EXPECT_EQ(augmented.sizes(), (std::vector<int64_t>{3, 24, 24}));
      EXPECT_EQ(augmented.scalar_type(), at::kByte);
      EXPECT_TRUE(augmented.is_contiguous());
    }
  }
}

TEST(Augment, ShiftsByUpToSoManyPixelsEachWay) {
  const Tensor pixels = at::randint(128, {3, 9, 9}, at::kByte);  // no level is grey
  std::set<std::pair<int64_t, int64_t>> shifts;
  Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    const Tensor shifted = augment(pixels, kShiftAlone, model_of(9), rng);
    for (int64_t y = -2; y <= 2; ++y) {
      for (int64_t x = -2; x <= 2; ++x) {
        const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
        if (shifted.equal(translate(pixels, dx, dy))) shifts.emplace(y, x);
      }
    }
  }
  EXPECT_EQ(shifts.size(), 25u);
}

TEST(Augment, MirrorsHalfOfThePictures) {
  constexpr int kDraws = 1000;
  const Tensor pixels = at::randint(256, {3, 6, 5}, at::kByte);
  EXPECT_TRUE(mirrored(pixels).equal(pixels.flip(2)));
  AugmentConfig config = kShiftAlone;
  config.shift = 0;
  config.flip = true;
  const Tensor square = at::randint(256, {3, 6, 6}, at::kByte);
  int64_t flipped = 0;
  Rng rng(4);
  for (int i = 0; i < kDraws; ++i) {
    const Tensor augmented = augment(square, config, model_of(6), rng);
    const bool is_mirror = augmented.equal(square.flip(2));
    EXPECT_TRUE(is_mirror || augmented.equal(square));
    flipped += is_mirror;
  }
  EXPECT_NEAR(flipped, kDraws / 2, 5 * 15.8);  // five standard errors
}

TEST(Augment, IsAFunctionOfItsRandomStream) {
  const Tensor pixels = at::randint(256, {3, 40, 50}, at::kByte);
  for (uint64_t index = 0; index < 20; ++index) {
    Rng first(1, 2, index), second(1, 2, index);
    EXPECT_TRUE(
        augment(pixels, {}, model_of(16), first).equal(augment(pixels, {}, model_of(16), second)));
  }
}

}  // namespace
}  // namespace perceiver
