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

// Keys' curve with a = -0.5 is 111, 29, -9 and -3 of 128 at 0.25, 0.75, 1.25 and 1.75 pixels, where
// twice as many pixels lie. Of the four neighbours of the outermost ones some are not there.
TEST(Resize, TensorFlowsBicubicLeavesOutWhatLiesOutside) {
  const Tensor row = at::tensor({0, 128, 0, 0}, at::kByte).view({1, 1, 4});
  const Tensor by_hand =
      at::tensor({-9.0 / (111 - 9), 29.0 / (111 + 29 - 3), 111.0 / (29 + 111 - 9), 111.0 / 128,
                  29.0 / 128, -9.0 / (-9 + 111 + 29), -3.0 / (-3 + 29 + 111), 0.0},
                 at::kFloat) *
      128;
  const Tensor wide = resize_bicubic_tensorflow(row, {1, 8});
  EXPECT_EQ(wide.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(wide.flatten(), by_hand, 1e-6, 1e-5)) << wide;
  const Tensor tall = resize_bicubic_tensorflow(row.transpose(1, 2).contiguous(), {8, 1});
  EXPECT_TRUE(tall.flatten().allclose(wide.flatten()));
}

// Five pixels to three: at 1/3, 2 and 11/3. Without antialiasing, the middle one is a pixel's own;
// at 1/3 + 1/3072 (places are 1024ths) Keys' curve gives -0.074, 0.852 and 0.259 to those 4/3, 1/3
// and 2/3 away, and -0.037 to the one 5/3 away.
TEST(Resize, TensorFlowsBicubicDoesNotAntialias) {
  const Tensor row = at::tensor({0, 0, 200, 0, 0}, at::kByte).view({1, 1, 5});
  const Tensor shrunk = resize_bicubic_tensorflow(row, {1, 3}).flatten();
  const double outside = -2.0 / 27, near = 23.0 / 27, far = 7.0 / 27, farther = -1.0 / 27;
  EXPECT_NEAR(near + far + outside + farther, 1.0, 1e-12);
  EXPECT_NEAR(shrunk[0].item<double>(), 200 * farther / (1.0 - outside), 0.1);
  EXPECT_EQ(shrunk[1].item<double>(), 200.0);
  EXPECT_NEAR(shrunk[2].item<double>(), shrunk[0].item<double>(), 0.1);
}

TEST(Resize, TensorFlowsBicubicKeepsAPictureOfItsSizeAndAnEvenOne) {
  const Tensor source = decode_image(golden("shapes_53x37.png"));
  EXPECT_TRUE(resize_bicubic_tensorflow(source, {37, 53}).equal(source.to(at::kFloat)));
  const Tensor even = resize_bicubic_tensorflow(at::full({1, 9, 5}, 255, at::kByte), {4, 13});
  EXPECT_TRUE(even.allclose(at::full({1, 4, 13}, 255.0)));
}

TEST(Resize, OtherShapesAndTypesAreRefused) {
  const Tensor picture = at::zeros({3, 4, 5}, at::kByte);
  std::vector<std::pair<std::string, Resize>> methods(std::begin(kMethods), std::end(kMethods));
  methods.emplace_back("bicubic_tensorflow", resize_bicubic_tensorflow);
  for (const auto& [method, resize] : methods) {
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
