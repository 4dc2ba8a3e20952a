#include "perceiver/nn/position.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(GridPositions, CornersAreAtMinusOneAndOne) {
  const Tensor grid = grid_positions({224, 224});
  EXPECT_TRUE(at::allclose(grid[0], at::tensor({-1.0f, -1.0f})));
  EXPECT_TRUE(at::allclose(grid[223], at::tensor({-1.0f, 1.0f})));  // end of the first row
  EXPECT_TRUE(at::allclose(grid[-1], at::tensor({1.0f, 1.0f})));
}

TEST(PositionsAt, SubsetEqualsRowsOfTheGrid) {
  const Tensor indices = at::tensor({0, 5, 23});
  const Tensor rows = grid_positions({2, 3, 4}).index_select(0, indices);
  EXPECT_TRUE(positions_at(indices, {2, 3, 4}).equal(rows));
}

TEST(PositionsAt, SubsampledGridStopsShortOfOne) {
  const Tensor positions = positions_at(at::tensor({0, 11}), {3, 4}, Spacing::kSubsampled);
  EXPECT_TRUE(at::allclose(positions[0], at::tensor({-1.0f, -1.0f})));
  EXPECT_TRUE(at::allclose(positions[1], at::tensor({-1.0f + 2 * 2 / 3.0f, -1.0f + 2 * 3 / 4.0f})));
}

TEST(FourierFeatures, ChannelsAreThePapers) {
  EXPECT_EQ(fourier_channels(2, 64), 258);   // ImageNet and flow
  EXPECT_EQ(fourier_channels(3, 64), 387);   // flow of separate frames
  EXPECT_EQ(fourier_channels(3, 32), 195);   // the released video queries
  EXPECT_EQ(fourier_channels(1, 192), 385);  // audio
  EXPECT_EQ(fourier_channels(3, 16), 99);    // AudioSet's video
}

TEST(FourierFeatures, FirstAndLastBand) {
  const Tensor x = at::tensor({0.25f}).view({1, 1});
  const Tensor f = fourier_features(x, 3, {8});  // frequencies 1, 2.5, 4
  const double pi = 3.14159265358979;
  const Tensor expected = at::tensor(
      {0.25, sin(pi * .25), sin(pi * .625), sin(pi), cos(pi * .25), cos(pi * .625), cos(pi)});
  EXPECT_TRUE(at::allclose(f[0].to(at::kDouble), expected, 1e-5, 1e-6));
}

TEST(FourierFeatures, BandsOfFlowAreTheReleased) {  // y: 1, 3.90476, ..., 184; x: 1, 4.92063, ...
  const Tensor p = at::tensor({0.1, 0.2}).view({1, 2});
  const Tensor f = fourier_features(p, 64, {368, 496})[0];
  const auto sine = [&](int64_t i) { return f[i].item<double>(); };
  EXPECT_NEAR(sine(2 + 1), std::sin(M_PI * 3.904762 * 0.1), 1e-6);
  EXPECT_NEAR(sine(2 + 63), std::sin(M_PI * 184 * 0.1), 1e-6);
  EXPECT_NEAR(sine(2 + 64 + 1), std::sin(M_PI * 4.920635 * 0.2), 1e-6);
  EXPECT_NEAR(sine(2 + 128), std::cos(M_PI * 0.1), 1e-6);  // cosines after all sines
}

TEST(FourierPlaces, AreTheFeaturesOfEveryPosition) {
  for (const std::vector<int64_t>& grid : {std::vector<int64_t>{7}, {5, 3}, {2, 4, 3}}) {
    for (const Spacing spacing : {Spacing::kInclusive, Spacing::kSubsampled}) {
      const int64_t count = c10::multiply_integers(grid);
      const Tensor expected =
          fourier_features(positions_at(at::arange(count), grid, spacing), 6, grid);
      const GridPlaces places = fourier_places(grid, 6, grid, spacing);
      EXPECT_TRUE(positions_of(places, 0, count).equal(expected)) << grid;
    }
  }
}

TEST(GridFeatures, AreTheFeaturesOfEveryPosition) {
  for (const std::vector<int64_t>& grid : {std::vector<int64_t>{7}, {5, 3}, {2, 4, 3}}) {
    std::vector<int64_t> resolution = grid;
    resolution[0] += 9;  // need not be the grid's
    const Tensor expected = fourier_features(grid_positions(grid), 6, resolution);
    const Tensor content = at::randn({2, expected.size(0), 5});
    const Tensor elements = GridFeatures(resolution, 6).behind(content, grid).materialise();
    EXPECT_TRUE(elements.equal(at::cat({content, expected.expand({2, -1, -1})}, -1)));
    EXPECT_TRUE(elements.is_contiguous());
  }
}

}  // namespace
}  // namespace perceiver
