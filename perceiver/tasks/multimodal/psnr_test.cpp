#include "perceiver/tasks/multimodal/psnr.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perceiver {
namespace {

TEST(Psnr, IsThatOfTheMeanSquaredErrorOverAllValues) {
  Psnr psnr;
  psnr.add(at::full({2, 3}, 0.5), at::full({2, 3}, 0.6));
  EXPECT_NEAR(psnr.decibels(), 20.0, 1e-5);  // 10 log10(1 / 0.1^2)
  psnr.add(at::zeros({18}), at::zeros({18}));
  EXPECT_NEAR(psnr.decibels(), 26.0206, 1e-4);  // a quarter of it: 10 log10(4 / 0.01)
}

TEST(Psnr, OfSilenceInPlaceOfASineIsThreeDecibels) {
  Psnr psnr;
  psnr.add((at::arange(1000) * (2.0 * M_PI / 100.0)).sin(), at::zeros({1000}));
  EXPECT_NEAR(psnr.decibels(), 3.0103, 1e-4);  // its mean square is 1/2
}

// Errors 0.1, 0.2, 0 and 0.3: their mean square is 0.14 / 4 = 0.035.
TEST(Psnr, OfAHandWorkedArray) {
  const Tensor original = at::tensor({0.5, 0.2, 1.0, 0.0}, at::kDouble);
  const Tensor reconstruction = at::tensor({0.6, 0.4, 1.0, 0.3}, at::kDouble);
  Psnr of_video, of_sound(2.0);
  of_video.add(original, reconstruction);
  of_sound.add(original, reconstruction);
  EXPECT_NEAR(of_video.decibels(), 14.559320, 1e-6);  // 10 log10(1 / 0.035)
  EXPECT_NEAR(of_sound.decibels(), 20.579919, 1e-6);  // 10 log10(4 / 0.035)
}

TEST(Psnr, OfTheSameIsInfinite) {
  Psnr psnr;
  psnr.add(at::ones({4}), at::ones({4}));
  EXPECT_EQ(psnr.decibels(), INFINITY);
}

}  // namespace
}  // namespace perceiver
