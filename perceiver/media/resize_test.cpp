#include "perceiver/media/resize.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/media/image.h"
#include "perceiver/media/media_test.h"

namespace perceiver {
namespace {

using Resize = std::function<Tensor(const Tensor&, ImageSize)>;
const std::pair<std::string, Resize> kMethods[] = {{"cubic_opencv", resize_cubic_opencv},
                                                   {"linear_opencv", resize_linear_opencv},
                                                   {"bicubic_pillow", resize_bicubic_pillow},
                                                   {"bilinear_pillow", resize_bilinear_pillow}};

// Theirs are computed with other instructions, which round differently here and there.
void expect_equal_but_for_rounding(const Tensor& ours, const Tensor& theirs,
                                   const std::string& name) {
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
  const Tensor difference = (ours.to(at::kFloat) - theirs.to(at::kFloat)).abs();
  EXPECT_LE(difference.max().item<float>(), 1) << name;
  EXPECT_LE(difference.mean().item<float>(), 0.005) << name;
}

TEST(Resize, IsWhatTheLibrariesOfThePipelinesDo) {
  const Tensor source = decode_image(golden("shapes_53x37.png"));
  const ImageSize sizes[] = {{16, 20}, {18, 26}, {48, 64}, {11, 53}, {37, 101}, {90, 7}, {1, 1}};
  for (const auto& [method, resize] : kMethods) {
    for (const ImageSize size : sizes) {
      const std::string name =
          fmt::format("{}_53x37_to_{}x{}.png", method, size.width, size.height);
      expect_equal_but_for_rounding(resize(source, size), decode_image(golden(name)), name);
    }
  }
}

TEST(Resize, AfterACentreCropIsTheEvaluationOfTheReferences) {
  const Tensor source = decode_image(golden("photo_97x71.png"));
  const int64_t side = 62, top = (71 - side + 1) / 2, left = (97 - side + 1) / 2;  // 62 = 7/8 of 71
  const Tensor crop = source.narrow(1, top, side).narrow(2, left, side);
  expect_equal_but_for_rounding(resize_cubic_opencv(crop, {32, 32}),
                                decode_image(golden("photo_cubic_opencv_32x32.png")), "opencv");
  expect_equal_but_for_rounding(resize_bicubic_pillow(crop, {32, 32}),
                                decode_image(golden("photo_bicubic_pillow_32x32.png")), "pillow");
}

TEST(Resize, ToTheSameSizeChangesNothing) {
  const Tensor source = decode_image(golden("shapes_53x37.png"));
  for (const auto& [method, resize] : kMethods) {
    EXPECT_TRUE(resize(source, {37, 53}).equal(source)) << method;
  }
}

TEST(Resize, OfAnEvenPictureIsEven) {
  const Tensor source = at::full({1, 9, 5}, 255, at::kByte);
  for (const auto& [method, resize] : kMethods) {
    EXPECT_TRUE(resize(source, {4, 13}).equal(at::full({1, 4, 13}, 255, at::kByte))) << method;
  }
}

TEST(Resize, OtherShapesAndTypesAreRefused) {
  const Tensor picture = at::zeros({3, 4, 5}, at::kByte);
  for (const auto& [method, resize] : kMethods) {
    EXPECT_EQ(error_of([&] {
                resize(picture, {0, 7});
              }),
              "cannot resize a picture of 5 x 4 pixels to 7 x 0");
    EXPECT_EQ(error_of([&] {
                resize(picture.to(at::kFloat), {2, 2});
              }),
              "picture has elements of type Float, expected uint8");
    EXPECT_EQ(error_of([&] {
                resize(picture[0], {2, 2});
              }),
              "picture has shape [4, 5], expected [*, *, *]");
  }
}

}  // namespace
}  // namespace perceiver
