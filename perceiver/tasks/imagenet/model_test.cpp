#include "perceiver/tasks/imagenet/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

ImageNetConfig tiny(ImageInput input, DecodeBy decode_by = DecodeBy::kQuery) {
  ImageNetConfig c;
  c.image_size = 16;
  c.input = input;
  c.num_bands = 4;
  c.content_channels = c.position_channels = 8;
  c.num_classes = 10;
  c.decode_by = decode_by;
  c.query_channels = 12;
  c.encoder = {.num_latents = 6,
               .latent_channels = 16,
               .num_blocks = 2,
               .self_attends_per_block = 2,
               .self_attend = {.num_heads = 4}};
  return c;
}

TEST(ImageNet, LogitsOfEveryVariantHaveTheRightShape) {
  at::NoGradGuard no_grad;
  for (const ImageInput input : {ImageInput::kFourier, ImageInput::kLearned, ImageInput::kConv}) {
    for (const DecodeBy decode_by : {DecodeBy::kQuery, DecodeBy::kAverage}) {
      ImageNet model(tiny(input, decode_by));
      EXPECT_EQ(model(at::randn({2, 3, 16, 16})).sizes(), (std::vector<int64_t>{2, 10}));
    }
  }
}

TEST(ImageNet, InputElementsAreContentThenPosition) {
  at::NoGradGuard no_grad;
  ImageNet model(tiny(ImageInput::kFourier));
  const Tensor image = at::randn({1, 3, 16, 16});
  const Tensor inputs = model->input_array(image);
  ASSERT_EQ(inputs.sizes(), (std::vector<int64_t>{1, 256, 3 + 18}));
  EXPECT_TRUE(inputs[0][17].narrow(0, 0, 3).equal(image.select(2, 1).select(2, 1)[0]));
  const Tensor corner = inputs[0][0].narrow(0, 3, 2);
  EXPECT_TRUE(corner.eq(-1).all().item<bool>());
}

TEST(ImageNet, LearnedPositionsNeedTheModelsSizeAndFourierFeaturesDoNot) {
  at::NoGradGuard no_grad;
  ImageNet fourier(tiny(ImageInput::kFourier)), learned(tiny(ImageInput::kLearned));
  EXPECT_EQ(fourier(at::randn({1, 3, 20, 12})).sizes(), (std::vector<int64_t>{1, 10}));
  try {
    learned(at::randn({1, 3, 20, 12}));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "images has shape [1, 3, 20, 12], expected [*, 3, 16, 16]");
  }
}

TEST(ImageNet, BaselineStartsWithEqualClasses) {
  at::NoGradGuard no_grad;
  ImageNet model(tiny(ImageInput::kFourier, DecodeBy::kAverage));
  EXPECT_TRUE(model(at::randn({1, 3, 16, 16})).eq(0).all().item<bool>());
}

}  // namespace
}  // namespace perceiver
