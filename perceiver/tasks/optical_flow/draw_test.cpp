#include "perceiver/tasks/optical_flow/draw.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/media/lettering.h"

namespace perceiver {
namespace {

using Colour = std::vector<int>;

FlowField known(const Tensor& flow) {
  return {flow, at::ones({flow.size(1), flow.size(2)}, at::kBool)};
}

Colour pixel(const Tensor& picture, int64_t y, int64_t x) {
  return {picture[0][y][x].item<int>(), picture[1][y][x].item<int>(), picture[2][y][x].item<int>()};
}

// The colour of one vector, where `max_flow` pixels are saturated.
Colour colour_of(float x, float y, double max_flow) {
  return pixel(flow_colours(known(at::tensor({x, y}).view({2, 1, 1})), max_flow), 0, 0);
}

TEST(ColourWheel, HasTheHuesOfBakerAndOthers) {
  const Tensor wheel = colour_wheel();
  ASSERT_EQ(wheel.sizes(), (std::vector<int64_t>{55, 3}));
  const auto hue = [&](int64_t i) {
    return Colour{wheel[i][0].item<int>(), wheel[i][1].item<int>(), wheel[i][2].item<int>()};
  };
  EXPECT_EQ(hue(0), (Colour{255, 0, 0}));
  EXPECT_EQ(hue(1), (Colour{255, 17, 0}));  // 255 / 15
  EXPECT_EQ(hue(15), (Colour{255, 255, 0}));
  EXPECT_EQ(hue(16), (Colour{213, 255, 0}));  // 255 - 42, of six steps
  EXPECT_EQ(hue(21), (Colour{0, 255, 0}));
  EXPECT_EQ(hue(22), (Colour{0, 255, 63}));  // of four
  EXPECT_EQ(hue(25), (Colour{0, 255, 255}));
  EXPECT_EQ(hue(26), (Colour{0, 232, 255}));  // of eleven
  EXPECT_EQ(hue(36), (Colour{0, 0, 255}));
  EXPECT_EQ(hue(37), (Colour{19, 0, 255}));  // of thirteen
  EXPECT_EQ(hue(49), (Colour{255, 0, 255}));
  EXPECT_EQ(hue(54), (Colour{255, 0, 43}));  // the last of six
}

TEST(FlowColours, AreTheBenchmarksOwn) {
  EXPECT_EQ(colour_of(0, 0, 1), (Colour{255, 255, 255}));
  EXPECT_EQ(colour_of(1, 0, 1), (Colour{255, 0, 0}));  // to the right: red
  // Half way round is hue 27, a quarter 13.5 and three quarters 40.5, between two of the wheel.
  EXPECT_EQ(colour_of(-1, 0, 1), (Colour{0, 209, 255}));
  EXPECT_EQ(colour_of(0, 1, 1), (Colour{255, 229, 0}));  // down: yellow
  EXPECT_EQ(colour_of(0, -1, 1), (Colour{87, 0, 255}));
  EXPECT_EQ(colour_of(1, 0, 2), (Colour{255, 127, 127}));  // half as saturated
  EXPECT_EQ(colour_of(2, 0, 1), (Colour{191, 0, 0}));      // out of range: three quarters
}

TEST(FlowColours, LongestIsSaturatedAndNothingIsDarkened) {
  at::manual_seed(0);
  const FlowField field = known(at::randn({2, 40, 50}) * 37);
  const Tensor picture = flow_colours(field, largest_flow(field));
  // Of a saturated or lighter colour, the largest channel is full.
  EXPECT_EQ(std::get<0>(picture.max(0)).min().item<int>(), 255);
}

TEST(FlowColours, UnknownIsBlackAndDoesNotCount) {
  FlowField field = known(at::tensor({3.0f, NAN, 4.0f, 1e10f}).view({2, 1, 2}));
  field.valid[0][1] = false;
  EXPECT_EQ(largest_flow(field), 5.0);
  EXPECT_EQ(pixel(flow_colours(field, 5.0), 0, 1), (Colour{0, 0, 0}));
  field.valid.fill_(false);
  EXPECT_EQ(largest_flow(field), 0.0);
}

TEST(FlowColours, OfNoMotionAtAllAreWhite) {
  const FlowField still = known(at::zeros({2, 3, 4}));
  EXPECT_TRUE(flow_colours(still, largest_flow(still)).eq(255).all().item<bool>());
}

TEST(Legend, ShowsEachDirectionInItsColourAndLeavesTheRest) {
  const Tensor picture = at::full({3, 300, 400}, 7, at::kByte);
  const Tensor with = with_legend(picture);  // a disc of 50 x 50
  EXPECT_TRUE(with.narrow(1, 0, 250).equal(picture.narrow(1, 0, 250)));
  EXPECT_TRUE(with.narrow(2, 0, 350).equal(picture.narrow(2, 0, 350)));
  EXPECT_EQ(pixel(with, 250, 350), (Colour{7, 7, 7}));  // a corner outside the disc
  EXPECT_GT(pixel(with, 275, 375)[0], 240);             // the centre does not move
  const Colour right = pixel(with, 275, 399), below = pixel(with, 299, 375);
  EXPECT_TRUE(right[0] == 255 && right[1] < 20 && right[2] < 20);
  EXPECT_TRUE(below[0] == 255 && below[1] > 220 && below[2] < 20);
  EXPECT_EQ(with_legend(at::zeros({3, 1, 1}, at::kByte)).numel(), 3);
}

TEST(Legend, SaysHowFarItsRimMovesWhereThereIsRoom) {
  const Tensor picture = at::full({3, 300, 400}, 7, at::kByte);
  const Tensor with = with_legend(picture, 8.84);
  const Tensor ink = lettering("8.8 px");
  const Tensor there =
      with[0].narrow(0, 300 - 2 - 7, 7).narrow(1, 350 - 2 - ink.size(1), ink.size(1));
  EXPECT_TRUE(there.eq(0).equal(ink));
  EXPECT_FALSE(with_legend(picture, 120.0).equal(with));
  const Tensor small = at::full({3, 40, 40}, 7, at::kByte);
  EXPECT_TRUE(with_legend(small, 8.84).equal(with_legend(small)));
}

TEST(Arrows, GoFromAGridToWhereItsPixelsMove) {
  Tensor flow = at::zeros({2, 32, 48});
  flow[0].fill_(3);
  const Tensor frame = at::full({3, 32, 48}, 100, at::kByte);
  FlowField field = known(flow);
  field.valid.narrow(1, 24, 24).fill_(false);
  const Tensor arrows = flow_arrows(frame, field);  // from (4, 4), (4, 12), …
  for (const int64_t x : {4, 5, 6, 7}) EXPECT_EQ(pixel(arrows, 4, x), (Colour{255, 0, 0}));
  EXPECT_EQ(pixel(arrows, 4, 3), (Colour{0, 0, 0}));  // the outline
  EXPECT_EQ(pixel(arrows, 8, 4), (Colour{100, 100, 100}));
  EXPECT_TRUE(arrows.narrow(2, 26, 22).equal(frame.narrow(2, 26, 22))) << "where it is unknown";
  EXPECT_TRUE(frame.eq(100).all().item<bool>()) << "the frame itself is left alone";
}

TEST(Arrows, MayLeadFarOutOfTheFrame) {
  const Tensor frame = at::full({3, 20, 20}, 100, at::kByte);
  const Tensor arrows = flow_arrows(frame, known(at::full({2, 20, 20}, 1e8f)));
  EXPECT_FALSE(arrows.equal(frame));
}

}  // namespace
}  // namespace perceiver
