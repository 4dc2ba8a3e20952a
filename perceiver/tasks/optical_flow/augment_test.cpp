#include "perceiver/tasks/optical_flow/augment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

FlowPair random_pair(int64_t height, int64_t width) {
  at::manual_seed(0);
  return {at::randint(256, {2, 3, height, width}, at::kByte), at::randn({2, height, width}) * 5,
          at::ones({height, width}, at::kBool)};
}

FlowAugmentConfig nothing() {
  FlowAugmentConfig c;
  c.jitter = {.brightness = 0, .contrast = 0, .saturation = 0, .hue = 0};
  c.erase_share = c.resize_share = c.flip_share = c.vertical_flip_share = 0.0;
  return c;
}

JitteredFrames frames_of(Tensor& pixels) {  // [3, n]
  auto* data = pixels.data_ptr<float>();
  const int64_t n = pixels.size(1);
  return {{data, data + n, data + 2 * n, n}};
}

TEST(ColourJitter, BrightnessIsAFactor) {
  Tensor pixels = at::tensor({100.0f, 200.0f, 0.0f}).view({3, 1});
  change_brightness(frames_of(pixels), 1.5);
  EXPECT_TRUE(pixels.flatten().equal(at::tensor({150.0f, 255.0f, 0.0f})));
}

TEST(ColourJitter, ContrastGrowsAroundTheMeanGreyOfAllFrames) {
  Tensor one = at::full({3, 1}, 50.0f), other = at::full({3, 1}, 150.0f);
  JitteredFrames both = frames_of(one);
  both.push_back(frames_of(other)[0]);
  change_contrast(both, 1.4);
  EXPECT_TRUE(at::allclose(one, at::full({3, 1}, 30.0f)));
  EXPECT_TRUE(at::allclose(other, at::full({3, 1}, 170.0f)));
}

TEST(ColourJitter, NoSaturationIsGrey) {
  Tensor pixels = at::tensor({100.0f, 200.0f, 50.0f}).view({3, 1});
  change_saturation(frames_of(pixels), 0.0);
  EXPECT_TRUE(
      at::allclose(pixels.flatten(), at::full({3}, 0.299 * 100 + 0.587 * 200 + 0.114 * 50)));
}

TEST(ColourJitter, HueTurnsRoundTheColourWheel) {
  const Tensor red = at::tensor({200.0f, 50.0f, 50.0f}).view({3, 1});
  Tensor pixels = red.clone();
  turn_hue(frames_of(pixels), 1.0 / 3.0);
  EXPECT_TRUE(at::allclose(pixels.flatten(), at::tensor({50.0f, 200.0f, 50.0f}), 1e-5, 1e-3));
  turn_hue(frames_of(pixels), -1.0 / 3.0 - 1.0 / 6.0);
  EXPECT_TRUE(at::allclose(pixels.flatten(), at::tensor({200.0f, 50.0f, 200.0f}), 1e-5, 1e-3));
  Tensor any = at::rand({3, 50}) * 255, turned = any.clone();
  turn_hue(frames_of(turned), 0.3);
  EXPECT_TRUE(at::allclose(std::get<0>(turned.max(0)), std::get<0>(any.max(0))));
  EXPECT_TRUE(at::allclose(std::get<0>(turned.min(0)), std::get<0>(any.min(0)), 1e-5, 1e-3));
  turn_hue(frames_of(turned), -0.3);
  EXPECT_TRUE(at::allclose(turned, any, 1e-4, 1e-2));
}

TEST(Augment, ZeroStrengthIsACropAndNothingElse) {
  const FlowPair pair = random_pair(20, 30);
  Rng rng(1);
  const FlowPair out = augment(pair, {12, 16}, FlowAugmentConfig{}, 0.0, rng);
  bool found = false;
  for (int64_t y = 0; y <= 8; ++y) {
    for (int64_t x = 0; x <= 14; ++x) {
      const auto crop = [&](const Tensor& t) { return t.narrow(-2, y, 12).narrow(-1, x, 16); };
      found |= crop(pair.frames).equal(out.frames) && crop(pair.flow).equal(out.flow);
    }
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(out.valid.all().item<bool>());
}

TEST(Augment, FramesJitterAlikeUnlessApart) {
  FlowPair pair = random_pair(16, 16);
  pair.frames[1].copy_(pair.frames[0]);
  FlowAugmentConfig config = nothing();
  config.jitter = {};
  for (const double share : {0.0, 1.0}) {
    config.jitter.apart_share = share;
    Rng rng(2);
    const FlowPair out = augment(pair, {16, 16}, config, 1.0, rng);
    EXPECT_EQ(out.frames[0].equal(out.frames[1]), share == 0.0);
    EXPECT_FALSE(out.frames[0].equal(pair.frames[0]));
    EXPECT_TRUE(out.flow.equal(pair.flow));
  }
}

TEST(Augment, EraserPutsRectanglesOfTheMeanColourIntoTheSecondFrame) {
  const FlowPair pair = random_pair(60, 80);
  FlowAugmentConfig config = nothing();
  config.erase_share = 1.0, config.erase_smallest = 10.0, config.erase_largest = 20.0;
  Rng rng(3);
  const FlowPair out = augment(pair, {60, 80}, config, 1.0, rng);
  EXPECT_TRUE(out.frames[0].equal(pair.frames[0]));
  const Tensor changed = out.frames[1].ne(pair.frames[1]).any(0);
  const double pixels = changed.sum().item<double>();
  EXPECT_GT(pixels, 0.0);
  EXPECT_LE(pixels, 2 * 20 * 20);
  const Tensor mean = pair.frames[1].to(at::kFloat).mean({1, 2}).round();
  const Tensor inside = out.frames[1].to(at::kFloat).masked_select(changed).view({3, -1});
  EXPECT_TRUE(inside.eq(mean.unsqueeze(1)).all().item<bool>());
}

TEST(Augment, FlipsTurnTheFlowRound) {
  const FlowPair pair = random_pair(10, 12);
  FlowAugmentConfig config = nothing();
  config.flip_share = 1.0;
  Rng rng(4);
  FlowPair out = augment(pair, {10, 12}, config, 1.0, rng);
  EXPECT_TRUE(out.frames.equal(pair.frames.flip(3)));
  EXPECT_TRUE(out.flow[0].equal(-pair.flow[0].flip(1)));
  EXPECT_TRUE(out.flow[1].equal(pair.flow[1].flip(1)));
  config.flip_share = 0.0, config.vertical_flip_share = 1.0;
  out = augment(pair, {10, 12}, config, 1.0, rng);
  EXPECT_TRUE(out.frames.equal(pair.frames.flip(2)));
  EXPECT_TRUE(out.flow[1].equal(-pair.flow[1].flip(0)));
}

TEST(Augment, ResizedPairsHaveLongerFlowAndOpenCvsPixels) {
  const FlowPair pair = random_pair(16, 20);
  const CropPlace place{.resized = {24, 40}};
  const FlowPair out = crop_of(pair.frames.to(at::kFloat), pair, {24, 40}, place);
  const Tensor expected = resize_linear_opencv(pair.frames[1], {24, 40});
  const Tensor apart = (out.frames[1].to(at::kInt) - expected.to(at::kInt)).abs();
  EXPECT_LE(apart.max().item<int>(), 1);  // OpenCV rounds weights too
  FlowPair even = pair;
  even.flow = at::ones({2, 16, 20});
  const FlowPair grown = crop_of(pair.frames.to(at::kFloat), even, {24, 40}, place);
  EXPECT_TRUE(at::allclose(grown.flow[0], at::full({24, 40}, 2.0)));
  EXPECT_TRUE(at::allclose(grown.flow[1], at::full({24, 40}, 1.5)));
}

TEST(Augment, UnknownFlowStaysUnknownAndDoesNotSpread) {
  FlowPair pair = random_pair(16, 20);
  pair.flow = at::ones({2, 16, 20});
  pair.valid[5][7] = false;
  pair.flow.select(1, 5).select(1, 7).fill_(1e6);
  const FlowPair out = crop_of(pair.frames.to(at::kFloat), pair, {32, 40}, {.resized = {32, 40}});
  EXPECT_EQ(out.valid.logical_not().sum().item<int64_t>(), 4);
  EXPECT_TRUE(out.flow[0].masked_select(out.valid).eq(2.0).all().item<bool>());
}

TEST(Augment, SmallPairsAreEnlargedToTheCrop) {
  const FlowPair pair = random_pair(10, 40);
  for (const double strength : {0.0, 0.5, 1.0}) {
    Rng rng(5);
    const FlowPair out = augment(pair, {16, 24}, FlowAugmentConfig{}, strength, rng);
    EXPECT_EQ(out.frames.sizes(), (std::vector<int64_t>{2, 3, 16, 24}));
    EXPECT_EQ(out.flow.sizes(), (std::vector<int64_t>{2, 16, 24}));
  }
}

TEST(Augment, ScalesStayBetweenTheirBounds) {
  FlowPair pair = random_pair(40, 40);
  pair.flow = at::ones({2, 40, 40});
  FlowAugmentConfig config = nothing();
  config.resize_share = 1.0;
  double least = 10.0, most = 0.0;
  for (int i = 0; i < 150; ++i) {
    Rng rng(6, 0, i);
    const double grown = augment(pair, {8, 8}, config, 1.0, rng).flow[0][0][0].item<double>();
    least = std::min(least, grown), most = std::max(most, grown);
  }
  EXPECT_GE(least, std::exp2(-0.4) - 0.02);  // -0.2 by scale and -0.2 by stretch
  EXPECT_LT(least, std::exp2(-0.2));
  EXPECT_LE(most, std::exp2(0.8) + 0.02);
  EXPECT_GT(most, std::exp2(0.5));
}

}  // namespace
}  // namespace perceiver
