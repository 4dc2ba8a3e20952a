#include "perceiver/tasks/imagenet/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/media/image.h"
#include "perceiver/media/resize.h"
#include "perceiver/tasks/application.h"

namespace perceiver {
namespace {

// Columns and rows can be told apart: red counts rows, green columns.
Tensor ruled(int64_t height, int64_t width) {
  return at::stack({at::arange(height).view({-1, 1}).expand({height, width}),
                    at::arange(width).view({1, -1}).expand({height, width}),
                    at::zeros({height, width}, at::kLong)})
      .to(at::kByte);
}

TEST(EvaluationCrop, IsTheMiddleSquareWithTheOddPixelBeforeIt) {
  // 0.875 * 40 = 35 of each side; (50 - 35 + 1) / 2 = 8 and (40 - 35 + 1) / 2 = 3 before it.
  const ImageNetConfig config{.image_size = 35};
  const Tensor crop = evaluation_crop(ruled(50, 40), config);
  EXPECT_TRUE(crop.equal(ruled(50, 40).narrow(1, 8, 35).narrow(2, 3, 35)));
}

TEST(EvaluationCrop, OfAWholePictureOfTheModelsSizeChangesNothing) {
  const ImageNetConfig config{.image_size = 32, .crop = 1.0};
  EXPECT_TRUE(evaluation_crop(ruled(32, 32), config).equal(ruled(32, 32)));
}

TEST(EvaluationCrop, EachReferenceHasItsOwnBicubic) {
  at::manual_seed(1);
  const Tensor noise = at::randint(256, {3, 64, 64}, at::kByte);
  ImageNetConfig config{.image_size = 16, .crop = 1.0};
  const Tensor opencv = evaluation_crop(noise, config);
  config.semantics = kHuggingFace;
  const Tensor pillow = evaluation_crop(noise, config);
  // Pillow's averages all that fall together, so noise comes out far smoother.
  const auto spread = [](const Tensor& t) { return t.to(at::kFloat).std().item<double>(); };
  EXPECT_LT(spread(pillow), 0.5 * spread(opencv));
}

TEST(EvaluationCrop, ByTensorFlowsBicubicIsNeitherRoundedNorClamped) {
  // A white square on black: 0.875 * 16 = 14 of each side, one pixel more before it than behind.
  Tensor square = at::zeros({3, 16, 16}, at::kByte);
  square.narrow(1, 6, 4).narrow(2, 6, 4).fill_(255);
  ImageNetConfig config{.image_size = 28};
  config.semantics.bicubic = Bicubic::kTensorFlow;
  const Tensor crop = evaluation_crop(square, config);
  ASSERT_EQ(crop.scalar_type(), at::kFloat);
  const Tensor middle = square.narrow(1, 1, 14).narrow(2, 1, 14).contiguous();
  EXPECT_TRUE(crop.equal(resize_bicubic_tensorflow(middle, {28, 28})));
  EXPECT_LT(crop.min().item<float>(), -1.0f);
  EXPECT_GT(crop.max().item<float>(), 256.0f);
  EXPECT_NEAR(normalised(crop)[0].max().item<double>(),
              (crop[0].max().item<double>() / 255 - 0.485) / 0.229, 1e-4);
}

TEST(Normalised, HasImageNetsMeanAtZeroAndComesBack) {
  const Tensor pixels = at::arange(256).view({1, 16, 16}).expand({3, 16, 16}).to(at::kByte);
  const Tensor values = normalised(pixels);
  EXPECT_NEAR(values[0][0][0].item<double>(), -0.485 / 0.229, 1e-5);
  EXPECT_NEAR(values[1][15][15].item<double>(), (1.0 - 0.456) / 0.224, 1e-5);
  EXPECT_TRUE(denormalised(values).equal(pixels));
}

TEST(ImageNetTask, OfSmallPicturesMakesPhotographsSmallWithoutAliasing) {
  const std::unique_ptr<Task> task = make_task(read_file(shipped("configs/imagenet_mini.toml")));
  const auto seen = [&](const Tensor& pixels) {
    const File picture{"x.png", encode_png(pixels)};
    const Example inputs = task->application()->read(std::span(&picture, 1));
    return task->application()->views(inputs)[0].pictures[0].to(at::kInt);
  };
  // Every third column is white: of ten columns together nothing but their mean is left.
  const Tensor columns = at::arange(320).remainder(3).eq(0).to(at::kByte) * 255;
  const Tensor stripes = seen(columns.expand({3, 320, 320}).contiguous());
  EXPECT_LE((stripes - 85).abs().max().item<int>(), 10) << "a third of 255, but for the border";
  const Tensor small = at::randint(0, 256, {3, 32, 32}, at::kByte);
  EXPECT_TRUE(seen(small).equal(small.to(at::kInt))) << "at its size a picture stays as it is";
}

TEST(ImageNetTask, ClassifiesAPictureOfAnySize) {
  const std::unique_ptr<Task> task = make_task(read_file(shipped("configs/imagenet_mini.toml")));
  task->model().eval();
  at::NoGradGuard no_grad;
  const File picture{"ruled.png", encode_png(ruled(50, 40))};
  const Example inputs = task->application()->read(std::span(&picture, 1));
  const Tensor probabilities = task->application()->classify(inputs);
  EXPECT_EQ(probabilities.sizes(), (std::vector<int64_t>{1, 10}));
  EXPECT_NEAR(probabilities.sum().item<double>(), 1.0, 1e-5);
  EXPECT_EQ(task->application()->encode(inputs).sizes(), (std::vector<int64_t>{1, 64, 256}));
  const std::vector<InputView> views = task->application()->views(inputs);
  EXPECT_EQ(views[0].grid, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(views[0].pictures.sizes(), (std::vector<int64_t>{1, 3, 32, 32}));
  const std::vector<File> two{picture, picture};
  EXPECT_EQ(error_of([&] { task->application()->read(two); }),
            "a model of pictures takes one at a time, got 2");
}

}  // namespace
}  // namespace perceiver
