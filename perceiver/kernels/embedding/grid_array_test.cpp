#include "perceiver/kernels/embedding/grid_array.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

class GridArrayTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(3); }

  static constexpr int64_t kLines = 5, kWidth = 7, kPlaces = 6, kContent = 4;
  Tensor lines = at::randn({kLines, kPlaces}) + 0.5, along = at::randn({kWidth, kPlaces}) * 3;
  GridArray array{.content = at::randn({2, kLines* kWidth, kContent}),
                  .places = grid_places(lines, along)};
};

TEST_F(GridArrayTest, ElementIsContentAndTheSumOfItsLineAndItsPlaceAlongIt) {
  const Tensor elements = stored(array);
  ASSERT_EQ(elements.sizes(), (std::vector<int64_t>{2, kLines * kWidth, kContent + kPlaces}));
  const int64_t element = 3 * kWidth + 2;
  EXPECT_TRUE(
      elements[1][element].equal(at::cat({array.content[1][element], lines[3] + along[2]})));
}

TEST_F(GridArrayTest, MeanAndSquaresAreThoseOfEachPosition) {
  const Tensor positions = stored(array)[0].narrow(1, kContent, kPlaces).to(at::kDouble);
  const Tensor mean = positions.mean(1);
  const Tensor squares = (positions - mean.unsqueeze(1)).square().sum(1);
  EXPECT_TRUE(at::allclose(array.places.mean.to(at::kDouble), mean, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(array.places.squares.to(at::kDouble), squares, 1e-5, 1e-5));
}

TEST_F(GridArrayTest, PartsOfAKnownGridStandForPartsOfTheElements) {
  const KnownGrid known(array);
  ASSERT_EQ(known.array().sizes(), stored(array).sizes());
  EXPECT_TRUE(elements_of(known.array()).equal(stored(array)));
  const Tensor slice = known.array().slice(1, 9, 20);
  EXPECT_EQ(known_grid(slice)->first, 9);
  EXPECT_TRUE(elements_of(slice).equal(stored(array).slice(1, 9, 20)));
  EXPECT_TRUE(elements_of(slice.narrow(0, 1, 1)).equal(stored(array).slice(1, 9, 20).slice(0, 1)));
}

TEST_F(GridArrayTest, IsKnownOnlyWhileItLivesAndHoldsNoNumbers) {
  Tensor stand_in;
  {
    const KnownGrid known(array), other(array);
    stand_in = known.array();
    EXPECT_TRUE(known_grid(stand_in).has_value());
    EXPECT_TRUE(stand_in.isnan().all().item<bool>());
  }
  EXPECT_FALSE(known_grid(stand_in).has_value());
  EXPECT_FALSE(known_grid(array.content).has_value());
  EXPECT_TRUE(elements_of(array.content).is_same(array.content));
}

}  // namespace
}  // namespace perceiver
