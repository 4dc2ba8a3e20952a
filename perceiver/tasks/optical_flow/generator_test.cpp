#include "perceiver/tasks/optical_flow/generator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/optical_flow/measures.h"
#include "perceiver/tasks/optical_flow/procedural.h"

namespace perceiver {
namespace {

constexpr int64_t kHeight = 60, kWidth = 80;

SharedTexture smooth_texture() {
  const Tensor y = at::arange(64, at::kFloat).view({64, 1}), x = at::arange(96, at::kFloat);
  const Tensor red = 128 + 100 * at::sin(0.15 * x + 0.05 * y), blue = 128 + 100 * at::cos(0.13 * y);
  const Tensor pixels =
      at::stack({red, 0.5 * red + 0.5 * blue, blue.expand({64, 96}), at::full({64, 96}, 255.0)});
  return std::make_shared<Texture>(pixels.round().to(at::kByte), TextureLevel::Beyond::kMirrored);
}

SharedTexture rough_texture() { return TexturePool::procedural(3).at(1); }

Layer disc(const SharedTexture& texture, double x, double y, Rng& rng) {
  Layer layer{.texture = texture, .x = x, .y = y};
  layer.shape.emplace(StarShape::Place{x, y, 15.0, 1.0}, 1.0, rng);
  layer.reach = layer.shape->reach();
  return layer;
}

struct Rendered {
  Rendering first, second;
  GeneratedPair made;
};

Rendered render_both(const std::vector<Layer>& layers) {
  Rendered r;
  r.first.resize(kHeight, kWidth), r.second.resize(kHeight, kWidth);
  render(layers, FrameOfPair::kFirst, r.first);
  render(layers, FrameOfPair::kSecond, r.second);
  r.made = to_pair(r.first, r.second);
  return r;
}

// Frame 2 taken back along the flow, less frame 1, where it can be seen: the mean of all colours.
double mean_difference(const GeneratedPair& made) {
  const Tensor frames = made.pair.frames.to(at::kFloat);
  const auto [back, inside] = follow(frames[1], made.pair.flow);
  const Tensor seen = made.hidden.logical_not().logical_and(inside).to(at::kFloat);
  return ((back - frames[0]).abs().mean(0) * seen).sum().item<double>() / seen.sum().item<double>();
}

TEST(FlowGenerator, WholePixelsOfMotionShiftTheFrameExactly) {
  Rng rng(1);
  std::vector<Layer> layers = {{.texture = rough_texture(), .motion = translation(3, -2)},
                               disc(rough_texture(), 40, 30, rng)};
  layers[1].motion = translation(3, -2);
  const GeneratedPair made = render_both(layers).made;
  const Tensor first = made.pair.frames[0], second = made.pair.frames[1];
  EXPECT_TRUE(
      second.slice(1, 0, kHeight - 2).slice(2, 3).equal(first.slice(1, 2).slice(2, 0, kWidth - 3)));
  EXPECT_TRUE(made.pair.flow[0].eq(3.0).all().item<bool>());
  EXPECT_TRUE(made.pair.flow[1].eq(-2.0).all().item<bool>());
  EXPECT_FALSE(made.hidden.slice(0, 2).slice(1, 0, kWidth - 3).any().item<bool>());
  EXPECT_TRUE(made.hidden.slice(0, 0, 2).all().item<bool>());
}

TEST(FlowGenerator, FlowLeadsToTheSameColours) {
  Rng rng(2);
  std::vector<Layer> layers = {{.texture = smooth_texture()}, disc(smooth_texture(), 30, 30, rng)};
  const Affine turn{std::cos(0.1), -std::sin(0.1), std::sin(0.1), 1.05 * std::cos(0.1)};
  layers[0].motion = translation(1.3, 0.4).after(about(40, 30, turn));
  layers[1].motion = translation(-5.5, 3.2);
  layers[1].gain = {0.5, 0.6, 0.7, 1.0};
  for (Layer& layer : layers) {
    SmoothField x(kHeight, kWidth, 20, 1.5, rng);
    layer.deformation.emplace(
        Layer::Deformation{std::move(x), SmoothField(kHeight, kWidth, 20, 1.5, rng), 1.5});
  }
  const GeneratedPair made = render_both(layers).made;
  GeneratedPair still = made;
  still.pair.flow = at::zeros_like(made.pair.flow);
  // Rounding to 8 bits and interpolation are 0.4 of 255; edges of the disc add to that.
  EXPECT_LT(mean_difference(made), 0.8);
  EXPECT_GT(mean_difference(still), 8.0);
}

TEST(FlowGenerator, FlowIsThatOfTheFrontmostLayerAndTheOneBehindIsHidden) {
  Rng rng(3);
  std::vector<Layer> layers = {{.texture = rough_texture()}, disc(rough_texture(), 20, 30, rng)};
  layers[1].motion = translation(30, 0);
  const Rendered r = render_both(layers);
  const Tensor moved = r.made.pair.flow[0].eq(30.0);
  const Tensor front =
      at::from_blob(const_cast<uint8_t*>(r.first.front.data()), {kHeight, kWidth}, at::kByte);
  EXPECT_TRUE(moved.equal(front.eq(1)));
  EXPECT_TRUE(moved[30][20].item<bool>());
  EXPECT_FALSE(moved[30][50].item<bool>());
  EXPECT_TRUE(r.made.hidden[30][50].item<bool>());   // the disc covers it
  EXPECT_FALSE(r.made.hidden[30][20].item<bool>());  // the disc itself stays in sight
  EXPECT_TRUE(r.made.pair.valid.all().item<bool>());
}

TEST(FlowGenerator, PairsFollowFromTheRandomStreamAlone) {
  const FlowGenerator generator({.textures = 2}, 32, 48);
  const FlowGenerator again({.textures = 2}, 32, 48);
  Rng a(1, 2, 3), other(1, 2, 4), b(1, 2, 3);
  const GeneratedPair pair = generator.pair(a);
  again.pair(other);
  const GeneratedPair same = again.pair(b);
  EXPECT_TRUE(pair.pair.frames.equal(same.pair.frames));
  EXPECT_TRUE(pair.pair.flow.equal(same.pair.flow));
  EXPECT_TRUE(pair.hidden.equal(same.hidden));
}

TEST(FlowGenerator, ConfigBoundsSpeedsAndSwitchesEffectsOff) {
  GeneratorConfig config{.textures = 4, .fewest_things = 0, .most_things = 0};
  config.slowest = config.fastest = 0.05;
  config.largest = 0.1;
  config.still_share = config.turn = config.deformation = 0.0;
  config.light_share = config.fog_share = config.blur_share = config.noise_share = 0.0;
  const FlowGenerator generator(config, 48, 64);
  double longest = 0.0, sum = 0.0;
  for (int i = 0; i < 200; ++i) {
    Rng rng(1, 0, i);
    const GeneratedPair made = generator.pair(rng);
    const double length = made.pair.flow.norm(2, {0}).max().item<double>();
    longest = std::max(longest, length), sum += length / 200;
  }
  EXPECT_NEAR(longest, 6.4, 1e-3);           // a tenth of the width
  EXPECT_NEAR(sum, 64 * 0.05 * 0.865, 0.6);  // an exponential's mean, cut at twice the mean
}

TEST(FlowGenerator, FlowExplainsTheSecondFrameOfRandomScenes) {
  GeneratorConfig config{.textures = 4};
  config.slowest = config.fastest = 0.1, config.still_share = 0.0;
  config.light_share = config.fog_share = config.blur_share = config.noise_share = 0.0;
  const FlowGenerator generator(config, 96, 128);
  double followed = 0.0, unmoved = 0.0;
  for (int i = 0; i < 5; ++i) {
    Rng rng(2, 0, i);
    GeneratedPair made = generator.pair(rng);
    followed += mean_difference(made);
    made.pair.flow.zero_();
    unmoved += mean_difference(made);
  }
  // Textures are rough at the scale of pixels, which interpolation blurs.
  EXPECT_LT(followed, 0.4 * unmoved);
}

TEST(FlowGenerator, EffectsChangeFramesAndNotTheFlow) {
  GeneratorConfig plain{.textures = 1};
  plain.slowest = plain.fastest = 0.1, plain.still_share = 0.0;
  plain.light_share = plain.fog_share = plain.blur_share = plain.noise_share = 0.0;
  for (double GeneratorConfig::*share :
       {&GeneratorConfig::light_share, &GeneratorConfig::fog_share, &GeneratorConfig::blur_share,
        &GeneratorConfig::noise_share}) {
    GeneratorConfig filmed = plain;
    filmed.*share = 1.0;
    Rng a(7, 0, 1), b(7, 0, 1);
    const GeneratedPair without = FlowGenerator(plain, 48, 64).pair(a);
    const GeneratedPair with = FlowGenerator(filmed, 48, 64).pair(b);
    EXPECT_TRUE(without.pair.flow.equal(with.pair.flow));
    EXPECT_FALSE(without.pair.frames.equal(with.pair.frames));
  }
}

Colour colour_at(const TextureLevel& level, float x, float y) {
  TextureBlock block;
  block.count = 1, block.x[0] = x, block.y[0] = y;
  level.read(block);
  return {block.colours[0][0], block.colours[1][0], block.colours[2][0], block.colours[3][0]};
}

TEST(Texture, ReadsBetweenPixelsAndMirrorsBeyondTheEdges) {
  Tensor pixels = at::full({4, 2, 3}, 255, at::kByte);
  pixels[0] = at::tensor({10, 20, 40, 50, 60, 80}, at::kByte).view({2, 3});
  const Texture texture(pixels, TextureLevel::Beyond::kMirrored);
  const TextureLevel& level = texture.level(0);
  EXPECT_EQ(colour_at(level, 0.0f, 0.0f)[0], 10.0f);
  EXPECT_EQ(colour_at(level, 0.5f, 0.0f)[0], 15.0f);
  EXPECT_EQ(colour_at(level, 1.5f, 0.5f)[0], 50.0f);
  EXPECT_EQ(colour_at(level, -1.0f, 0.0f)[0], 10.0f);
  EXPECT_EQ(colour_at(level, -2.0f, 0.0f)[0], 20.0f);
  EXPECT_EQ(colour_at(level, 3.0f, 2.0f)[0], 80.0f);
}

TEST(Texture, CutOutsEndAtTheirEdges) {
  const Tensor pixels = at::full({4, 2, 2}, 100, at::kByte);
  const Texture texture(pixels, TextureLevel::Beyond::kEmpty);
  EXPECT_EQ(colour_at(texture.level(0), 0.0f, 0.0f)[3], 100.0f);
  EXPECT_EQ(colour_at(texture.level(0), 0.0f, 0.0f)[0], 39.0f);  // 100 x 100 / 255
  EXPECT_EQ(colour_at(texture.level(0), -0.5f, 0.0f)[3], 50.0f);
  EXPECT_EQ(colour_at(texture.level(0), -1.0f, 0.0f)[3], 0.0f);
}

TEST(Texture, LevelsAreHalvedAsOftenAsTheStepAsks) {
  const Texture texture(at::full({4, 64, 64}, 255, at::kByte), TextureLevel::Beyond::kMirrored);
  EXPECT_EQ(texture.level_for(0.5), 0);
  EXPECT_EQ(texture.level_for(1.9), 0);
  EXPECT_EQ(texture.level_for(2.5), 1);
  EXPECT_EQ(texture.level_for(1000.0), 3);
  EXPECT_EQ(texture.level(3).height(), 8);
}

TEST(StarShape, IsSolidInTheMiddleAndEmptyBeyondItsReach) {
  for (int i = 0; i < 50; ++i) {
    Rng rng(4, 0, i);
    const StarShape shape({30.0, 20.0, 10.0, 1.0}, 3.0, rng);
    EXPECT_EQ(shape.opacity(30.0f, 20.0f), 1.0f);
    bool edge = false;
    for (int angle = 0; angle < 60; ++angle) {
      const double a = angle * std::numbers::pi / 30;
      const auto at = [&](double r) {
        return shape.opacity(static_cast<float>(30.0 + r * std::cos(a)),
                             static_cast<float>(20.0 + r * std::sin(a)));
      };
      EXPECT_EQ(at(shape.reach() + 0.01), 0.0f);
      double before = 1.0;
      for (double r = 0.0; r < shape.reach(); r += 0.2) {  // seen whole from the middle
        EXPECT_LE(at(r), before + 1e-4);
        before = at(r);
        edge |= before > 0.0 && before < 1.0;
      }
    }
    EXPECT_TRUE(edge);
  }
}

TEST(ProceduralTexture, HasStructureAtEveryScale) {
  for (int i = 0; i < 6; ++i) {
    Rng rng(0, 0, i);
    Tensor grey = procedural_texture(128, rng).narrow(0, 0, 3).to(at::kFloat).mean(0);
    for (int scale = 0; scale < 4; ++scale) {  // neighbours differ, however far one stands back
      const double apart =
          (grey.slice(1, 1) - grey.slice(1, 0, grey.size(1) - 1)).abs().mean().item<double>();
      EXPECT_GT(apart, 0.5) << "texture " << i << " scale " << scale;
      grey = at::avg_pool2d(grey.unsqueeze(0), 2)[0];
    }
  }
}

}  // namespace
}  // namespace perceiver
