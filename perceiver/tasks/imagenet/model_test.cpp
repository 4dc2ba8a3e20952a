#include "perceiver/tasks/imagenet/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/on_gpu_test.h"

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
  for (const ImageInput input : {ImageInput::kFourier, ImageInput::kProjected, ImageInput::kLearned,
                                 ImageInput::kConv, ImageInput::kPatches}) {
    for (const DecodeBy decode_by : {DecodeBy::kQuery, DecodeBy::kAverage}) {
      ImageNet model(tiny(input, decode_by));
      EXPECT_EQ(model(at::randn({2, 3, 16, 16})).sizes(), (std::vector<int64_t>{2, 10}));
    }
  }
}

// 8 x 8 patches and as many latents, as in imagenet_mini.
ImageNetConfig placed_latents() {
  ImageNetConfig c;
  c.image_size = 32;
  c.input = ImageInput::kPatches;
  c.num_bands = 16;
  c.num_classes = 10;
  c.query_channels = 12;
  c.latents_start = LatentStart::kPlaces;
  c.encoder = {.num_latents = 64,
               .latent_channels = 256,
               .num_blocks = 2,
               .self_attends_per_block = 1,
               .num_cross_attends = 2,
               .cross_attend = {.num_heads = 16, .qk_channels = 256, .v_channels = 256}};
  return c;
}

TEST(ImageNet, LatentsThatStartAtPlacesLookMostAtTheirOwn) {
  at::NoGradGuard no_grad;
  at::manual_seed(0);
  ImageNet model(placed_latents());
  auto p = model->named_parameters();
  const Tensor latents = p["encoder.latents"];
  const Tensor inputs = model->input_array(at::randn({1, 3, 32, 32})).materialise()[0];
  const auto normed = [](const Tensor& x) { return at::layer_norm(x, {x.size(-1)}); };
  for (const std::string look : {"encoder.cross_attend", "encoder.cross_attend_again"}) {
    const Tensor q = at::matmul(normed(latents), p[look + ".attention.q.weight"].t());
    const Tensor k = at::matmul(normed(inputs), p[look + ".attention.k.weight"].t());
    const Tensor heads_q = q.view({64, 16, 16}).transpose(0, 1);
    const Tensor heads_k = k.view({64, 16, 16}).transpose(0, 1);
    const Tensor scores = at::matmul(heads_q, heads_k.transpose(1, 2)) / 4.0;
    const Tensor looks = scores.softmax(-1).mean(0);  // over heads
    const Tensor own = looks.argmax(-1).eq(at::arange(64)).sum();
    EXPECT_GE(own.item<int64_t>(), 60) << look;  // the pictures' noise may win a few
    EXPECT_GT(looks.diagonal().mean().item<double>(), 10.0 / 64.0) << look;
  }
}

TEST(ImageNet, LatentsStartAtPlacesWhereThereAreSome) {
  ImageNetConfig c = placed_latents();
  c.encoder.num_latents = 60;
  EXPECT_EQ(error_of([&] { ImageNet{c}; }),
            "latents_start = \"places\" takes a square number of latents, not 60");
  c = placed_latents();
  c.num_bands = 64;
  EXPECT_EQ(error_of([&] { ImageNet{c}; }),
            "latents_start = \"places\": 258 features of a place do not fit a latent's 256 "
            "channels");
  c = placed_latents();
  c.input = ImageInput::kLearned;
  EXPECT_EQ(error_of([&] { ImageNet{c}; }),
            "latents_start = \"places\" takes Fourier features, which input = \"learned\" has "
            "not");
}

TEST(ImageNet, OnAGpuBfloat16IsAsExactAsTheModules) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const ImageInput input : {ImageInput::kFourier, ImageInput::kProjected, ImageInput::kLearned,
                                 ImageInput::kConv, ImageInput::kPatches}) {
    ErrorsOnAGpu errors;
    for (int64_t draw = 0; draw < ErrorsOnAGpu::kDraws; ++draw) {
      at::manual_seed(draw);
      const Tensor images = at::randn({8, 3, 16, 16}).to(at::kCUDA, at::kBFloat16);
      ImageNet model(tiny(input));
      errors.add(model, [&](at::ScalarType t) { return model(images.to(t)); });
    }
    errors.expect_as_exact_as_modules();
  }
}

TEST(ImageNet, InputElementsAreContentThenPosition) {
  at::NoGradGuard no_grad;
  ImageNet model(tiny(ImageInput::kFourier));
  const Tensor image = at::randn({1, 3, 16, 16});
  const Tensor inputs = model->input_array(image).materialise();
  ASSERT_EQ(inputs.sizes(), (std::vector<int64_t>{1, 256, 3 + 18}));
  EXPECT_TRUE(inputs[0][17].narrow(0, 0, 3).equal(image.select(2, 1).select(2, 1)[0]));
  const Tensor corner = inputs[0][0].narrow(0, 3, 2);
  EXPECT_TRUE(corner.eq(-1).all().item<bool>());
}

TEST(ImageNet, ProjectedColoursStandBeforeTheSameFourierFeatures) {
  at::NoGradGuard no_grad;
  ImageNet plain(tiny(ImageInput::kFourier)), projected(tiny(ImageInput::kProjected));
  const Tensor image = at::randn({1, 3, 16, 16});
  const Tensor inputs = projected->input_array(image).materialise();
  ASSERT_EQ(inputs.sizes(), (std::vector<int64_t>{1, 256, 8 + 18}));
  EXPECT_TRUE(
      inputs.narrow(2, 8, 18).equal(plain->input_array(image).materialise().narrow(2, 3, 18)));
  const auto weights = projected->named_parameters();
  const Tensor pixel = image[0].select(1, 2).select(1, 5);  // row 2, column 5
  const Tensor expected = weights["content.weight"].mv(pixel) + weights["content.bias"];
  EXPECT_TRUE(inputs[0][2 * 16 + 5].narrow(0, 0, 8).allclose(expected, 1e-5, 1e-6));
  EXPECT_EQ(projected->summary().parameters(), num_parameters(*projected));
}

TEST(ImageNet, LearnedPositionsNeedTheModelsSizeAndFourierFeaturesDoNot) {
  at::NoGradGuard no_grad;
  ImageNet fourier(tiny(ImageInput::kFourier)), learned(tiny(ImageInput::kLearned));
  EXPECT_EQ(fourier(at::randn({1, 3, 20, 12})).sizes(), (std::vector<int64_t>{1, 10}));
  EXPECT_EQ(error_of([&] {
              learned(at::randn({1, 3, 20, 12}));
            }),
            "images has shape [1, 3, 20, 12], expected [*, 3, 16, 16]");
}

// A picture of 4 x 6 pixels whose values count: rows, then columns, then colours.
TEST(ImageNet, PatchesAreTheirPixelsInOrderThenThePositionInTheirGrid) {
  at::NoGradGuard no_grad;
  ImageNetConfig config = tiny(ImageInput::kPatches);
  config.patch_size = 2;
  ImageNet model(config);
  const Tensor image = at::arange(4 * 6 * 3, at::kFloat).view({1, 4, 6, 3}).permute({0, 3, 1, 2});
  EXPECT_EQ(model->grid({4, 6}), (std::vector<int64_t>{2, 3}));
  const Tensor inputs = model->input_array(image).materialise();
  ASSERT_EQ(inputs.sizes(), (std::vector<int64_t>{1, 6, 2 * 2 * 3 + 18}));
  // Row 1, column 2 of the patches: pixels (2, 4), (2, 5), (3, 4), (3, 5).
  EXPECT_TRUE(inputs[0][5].narrow(0, 0, 12).equal(
      at::tensor({48.f, 49.f, 50.f, 51.f, 52.f, 53.f, 66.f, 67.f, 68.f, 69.f, 70.f, 71.f})));
  EXPECT_TRUE(inputs[0][5].narrow(0, 12, 2).equal(at::tensor({1.f, 1.f})));
  EXPECT_TRUE(inputs[0][1].narrow(0, 12, 2).equal(at::tensor({-1.f, 0.f})));
  // The highest frequency is the Nyquist frequency of the model's own 8 x 8 patches.
  const Tensor sines = inputs[0][4].narrow(0, 14, 4);  // of y = 1, from frequency 1 to 4
  EXPECT_TRUE(sines.allclose(at::zeros(4), 0.0, 1e-5));
}

TEST(ImageNet, ASummaryHasTheArrayOfPatches) {
  const ImageNet model(tiny(ImageInput::kPatches));
  const ModelSummary summary = model->summary();
  EXPECT_EQ(summary.inputs, (ArraySize{16, 4 * 4 * 3 + 18}));
  EXPECT_EQ(summary.parameters(), num_parameters(*model));
}

TEST(ImageNet, PatchesMustFillThePicture) {
  at::NoGradGuard no_grad;
  ImageNetConfig config = tiny(ImageInput::kPatches);
  ImageNet model(config);
  EXPECT_EQ(model(at::randn({1, 3, 20, 12})).sizes(), (std::vector<int64_t>{1, 10}));
  EXPECT_EQ(error_of([&] {
              model(at::randn({1, 3, 20, 14}));
            }),
            "an image of 20 x 14 pixels cannot be cut into patches of 4 x 4: its height and width "
            "must be multiples of 4");
  config.patch_size = 5;
  EXPECT_EQ(error_of([&] { ImageNet wrong(config); }),
            "image_size (16) must be a multiple of patch_size (5)");
}

TEST(ImageNet, BaselineStartsWithEqualClasses) {
  at::NoGradGuard no_grad;
  ImageNet model(tiny(ImageInput::kFourier, DecodeBy::kAverage));
  EXPECT_TRUE(model(at::randn({1, 3, 16, 16})).eq(0).all().item<bool>());
}

}  // namespace
}  // namespace perceiver
