#include "perceiver/kernels/embedding/grid_places.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

class GridPlacesTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(3); }

  static constexpr int64_t kLines = 5, kWidth = 7, kChannels = 6;
  Tensor lines = at::randn({kLines, kChannels}) + 0.5, along = at::randn({kWidth, kChannels}) * 3;
  GridPlaces places = grid_places(lines, along);
};

TEST_F(GridPlacesTest, PositionIsTheSumOfItsLineAndItsPlaceAlongIt) {
  const Tensor all = positions_of(places, 0, places.count());
  ASSERT_EQ(all.sizes(), (std::vector<int64_t>{kLines * kWidth, kChannels}));
  EXPECT_TRUE(all[3 * kWidth + 2].equal(lines[3] + along[2]));
}

TEST_F(GridPlacesTest, SomePositionsAreRowsOfAll) {
  const Tensor all = positions_of(places, 0, places.count());
  EXPECT_TRUE(positions_of(places, 9, 11).equal(all.narrow(0, 9, 11)));
}

TEST_F(GridPlacesTest, MeanAndSquaresAreThoseOfEachPosition) {
  const Tensor positions = positions_of(places, 0, places.count()).to(at::kDouble);
  const Tensor mean = positions.mean(1);
  const Tensor squares = (positions - mean.unsqueeze(1)).square().sum(1);
  EXPECT_TRUE(at::allclose(places.mean.to(at::kDouble), mean, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(places.squares.to(at::kDouble), squares, 1e-5, 1e-5));
}

}  // namespace
}  // namespace perceiver
