#include "perceiver/modalities/image.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(Neighbourhoods, AreInTheOrderRowColumnChannelWithZerosOutside) {
  const Tensor x = at::arange(1, 25, at::kFloat).view({1, 2, 3, 4});
  const Tensor patches = neighbourhoods(x, 3);
  ASSERT_EQ(patches.sizes(), (std::vector<int64_t>{1, 12, 18}));
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      for (int64_t i = 0; i < 18; ++i) {
        const int64_t y = row + i / 6 - 1, w = column + i / 2 % 3 - 1, channel = i % 2;
        const bool inside = y >= 0 && y < 3 && w >= 0 && w < 4;
        const float expected = inside ? x[0][channel][y][w].item<float>() : 0.0f;
        EXPECT_EQ(patches[0][row * 4 + column][i].item<float>(), expected);
      }
    }
  }
  EXPECT_TRUE(neighbourhoods(x, 1).equal(x.flatten(2).transpose(1, 2)));
}

TEST(Patches, AreInTheOrderRowColumnChannel) {
  // Two channels, 2 x 4 pixels: 0 to 7, and the same with a hundred more.
  const Tensor channel = at::arange(8, at::kFloat).view({1, 1, 2, 4});
  const Tensor patches = pixels_to_patches(at::cat({channel, channel + 100}, 1), 2);
  EXPECT_TRUE(
      patches.equal(at::tensor({0.f, 100.f, 1.f, 101.f, 4.f, 104.f, 5.f, 105.f,  // columns 0 and 1
                                2.f, 102.f, 3.f, 103.f, 6.f, 106.f, 7.f, 107.f})
                        .view({1, 2, 8})));
}

TEST(ConvStage, GridsAreThePapersAndHuggingFaces) {
  EXPECT_EQ(ConvStageImpl::output_grid({224, 224}, ConvPadding::kSame),
            (std::vector<int64_t>{56, 56}));
  EXPECT_EQ(ConvStageImpl::output_grid({224, 224}, ConvPadding::kSymmetric),
            (std::vector<int64_t>{55, 55}));
  EXPECT_EQ(ConvStageImpl::output_grid({368, 496}, ConvPadding::kSame),
            (std::vector<int64_t>{92, 124}));
}

TEST(ConvStage, OutputHasTheGridItPromises) {
  at::NoGradGuard no_grad;
  for (const ConvPadding padding : {ConvPadding::kSame, ConvPadding::kSymmetric}) {
    for (const int64_t size : {16, 17, 18, 19, 31}) {
      ConvStage stage(3, 4, padding);
      stage->eval();
      const Tensor out = stage(at::randn({1, 3, size, size + 1}));
      EXPECT_EQ(out.sizes().slice(2).vec(), ConvStageImpl::output_grid({size, size + 1}, padding))
          << size;
    }
  }
}

// TensorFlow's SAME at even sizes: the convolution pads 2 before and 3 after, the pool 0 and 1.
TEST(ConvStage, SamePaddingPutsTheOddPixelAfter) {
  at::NoGradGuard no_grad;
  ConvStage stage(1, 1, ConvPadding::kSame);
  stage->eval();
  Tensor weight = stage->named_parameters()["conv.weight"];
  weight.zero_();
  weight[0][0][2][2] = 1;  // with 2 pixels before, output (0, 0) is input (0, 0)
  Tensor x = at::zeros({1, 1, 16, 16});
  x[0][0][0][0] = 5;
  EXPECT_NEAR(stage(x)[0][0][0][0].item<double>(), 5.0, 1e-4);
  x.zero_();
  x[0][0][14][14] = 7;  // convolution output (7, 7), the last, and so pool output (3, 3)
  EXPECT_NEAR(stage(x)[0][0][3][3].item<double>(), 7.0, 1e-4);
}

}  // namespace
}  // namespace perceiver
