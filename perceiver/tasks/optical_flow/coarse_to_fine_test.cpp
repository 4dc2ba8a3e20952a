#include "perceiver/tasks/optical_flow/coarse_to_fine.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/optical_flow/measures.h"
#include "perceiver/tasks/optical_flow/tiny_test.h"

namespace perceiver {
namespace {

using Sizes = std::vector<ImageSize>;

TEST(SizesOfLevels, AreHalvesTheSmallestFirst) {
  EXPECT_EQ(sizes_of_levels({436, 1024}, 3), (Sizes{{109, 256}, {218, 512}, {436, 1024}}));
  EXPECT_EQ(sizes_of_levels({101, 65}, 2), (Sizes{{51, 33}, {101, 65}}));
  EXPECT_EQ(sizes_of_levels({101, 65}, 1), (Sizes{{101, 65}}));
}

TEST(SizesOfLevels, HaveNoSideBelowSixteenPixelsButTheFramesOwn) {
  EXPECT_EQ(sizes_of_levels({40, 100}, 8), (Sizes{{20, 50}, {40, 100}}));
  EXPECT_EQ(sizes_of_levels({3, 1}, 4), (Sizes{{3, 1}}));
}

Tensor constant_flow(int64_t height, int64_t width, double x, double y) {
  return at::tensor({x, y}, at::kFloat).view({2, 1, 1}).expand({2, height, width}).contiguous();
}

TEST(ResizedFlow, IsInPixelsOfTheNewSize) {
  const Tensor flow = resized_flow(constant_flow(10, 20, 2, -1), {30, 40});
  EXPECT_TRUE(at::allclose(flow, constant_flow(30, 40, 4, -3)));
}

// A smooth picture of blobs, in which every place differs from its neighbours.
Tensor blobs(int64_t height, int64_t width) {
  at::manual_seed(0);
  const Tensor coarse = at::randint(256, {1, 3, height / 4, width / 4}, at::kByte).to(at::kFloat);
  return at::upsample_bicubic2d(coarse, {height, width}, false)[0].clamp(0, 255).to(at::kByte);
}

TEST(Warped, BringsBackWhatMovedAndRepeatsTheEdge) {
  const Tensor first = blobs(24, 32);
  const Tensor second = first.roll({3, -2}, {2, 1});  // right by 3, up by 2
  const Tensor back = warped(second, constant_flow(24, 32, 3, -2));
  EXPECT_TRUE(back.slice(1, 2).slice(2, 0, 29).equal(first.slice(1, 2).slice(2, 0, 29)));
  EXPECT_TRUE(back.select(2, 31).equal(back.select(2, 28)));
  EXPECT_TRUE(warped(first, constant_flow(24, 32, NAN, INFINITY)).equal(first));
}

// Per pixel the shift of up to 3 pixels under which 7 x 7 pixels around it agree best: what finds
// short motion, and no other.
Tensor short_motion(const Tensor& frames) {
  constexpr int64_t kLongest = 3;
  const Tensor first = frames[0].to(at::kFloat), second = frames[1].to(at::kFloat);
  Tensor least = at::full({frames.size(2), frames.size(3)}, 1e9), found = at::zeros({2, 1, 1});
  for (int64_t dy = -kLongest; dy <= kLongest; ++dy) {
    for (int64_t dx = -kLongest; dx <= kLongest; ++dx) {
      const Tensor apart = (first - second.roll({-dx, -dy}, {2, 1})).abs().sum(0).unsqueeze(0);
      const Tensor error = at::avg_pool2d(apart, 7, 1, 3)[0];
      const Tensor shift = at::tensor({dx, dy}).to(at::kFloat).view({2, 1, 1});
      found = at::where(error < least, shift, found);
      least = at::minimum(error, least);
    }
  }
  return found;
}

double mean_error(const Tensor& flow, const Tensor& truth, int64_t margin) {
  const auto inside = [&](const Tensor& x) {
    return x.slice(1, margin, x.size(1) - margin).slice(2, margin, x.size(2) - margin);
  };
  return (inside(flow) - inside(truth)).norm(2, 0).mean().item<double>();
}

TEST(CoarseToFine, FindsMotionTooLongForOneSize) {
  const Tensor first = blobs(96, 128), truth = constant_flow(96, 128, 11, -6);
  const Tensor frames = at::stack({first, first.roll({11, -6}, {2, 1})});
  EXPECT_GT(mean_error(coarse_to_fine(frames, 1, short_motion), truth, 24), 8.0);
  EXPECT_LT(mean_error(coarse_to_fine(frames, 3, short_motion), truth, 24), 0.7);
}

// Upper and lower half go apart, by 16 pixels in all.
TEST(CoarseToFine, FindsLongMotionsInOppositeDirections) {
  const Tensor first = blobs(96, 128);
  const Tensor upper = first.slice(1, 0, 48), lower = first.slice(1, 48, 96);
  const Tensor second = at::cat({upper.roll(8, 2), lower.roll(-8, 2)}, 1);
  const Tensor flow = coarse_to_fine(at::stack({first, second}), 3, short_motion);
  EXPECT_LT(mean_error(flow.slice(1, 0, 40), constant_flow(40, 128, 8, 0), 12), 0.5);
  EXPECT_LT(mean_error(flow.slice(1, 56, 96), constant_flow(40, 128, -8, 0), 12), 0.5);
}

// In a picture without any detail all motions agree alike.
TEST(CoarseToFine, AddsWhatEachSizeFinds) {
  std::vector<int64_t> widths;
  const auto one_pixel = [&](const Tensor& frames) {
    widths.push_back(frames.size(3));
    return constant_flow(frames.size(2), frames.size(3), 1, 0);
  };
  const Tensor frames = at::zeros({2, 3, 64, 80}, at::kByte);
  EXPECT_TRUE(coarse_to_fine(frames, 3, one_pixel).equal(constant_flow(64, 80, 4 + 2 + 1, 0)));
  EXPECT_EQ(widths, (std::vector<int64_t>{20, 40, 40, 80, 80}));
}

TEST(CoarseToFine, APixelHasWhatIsFoundWithoutHelpWhereTheFramesAgreeBetterSo) {
  const Tensor first = blobs(64, 80), truth = constant_flow(64, 80, 2, 0);
  const Tensor frames = at::stack({first, first.roll(2, 2)});
  const auto misled = [&](const Tensor& some) {
    if (some.equal(frames)) return truth;
    return constant_flow(some.size(2), some.size(3), 4, 3);
  };
  EXPECT_LT(mean_error(coarse_to_fine(frames, 2, misled), truth, 16), 0.01);
}

TEST(Disagreement, IsInGreyLevelsOverAllThatIsNear) {
  const Tensor first = at::zeros({3, 20, 30}, at::kByte), still = at::zeros({2, 20, 30});
  Tensor second = first.clone();
  second.select(2, 10).select(1, 10).fill_(81);
  const Tensor apart = disagreement(first, second, still);
  EXPECT_NEAR(apart[10][10].item<double>(), 1.0, 1e-5);  // 81 over 9 x 9 pixels
  EXPECT_NEAR(apart[6][14].item<double>(), 1.0, 1e-5);
  EXPECT_EQ(apart[5][10].item<double>(), 0.0);
  second.fill_(7);
  EXPECT_TRUE(at::allclose(disagreement(first, second, still), at::full({20, 30}, 7.0f)));
}

TEST(CoarseToFine, OfOneLevelIsTheModelsTiledFlow) {
  const at::NoGradGuard no_grad;
  at::manual_seed(0);
  OpticalFlow model(tiny_flow());
  model->eval();
  for (auto& p : model->named_parameters()) {
    if (p.value().dim() == 2 && p.value().size(0) == 2) p.value().normal_(0, 100);
  }
  const Tensor frames = at::randint(256, {2, 3, 34, 45}, at::kByte);
  const Tensor flow = tiled_flow(*model, frames);
  EXPECT_TRUE(coarse_to_fine(*model, frames, {}, 1).equal(flow));
  EXPECT_FALSE(coarse_to_fine(*model, frames, {}, 2).equal(flow));
}

}  // namespace
}  // namespace perceiver
