#include "perceiver/nn/array.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/norm/normalised_rows.h"

namespace perceiver {
namespace {

Tensor normalised(const Tensor& x) {
  return at::layer_norm(x.to(at::kDouble), {x.size(-1)}, {}, {}, 1e-5);
}

std::vector<at::Device> devices() {
  std::vector<at::Device> all = {at::kCPU};
  if (at::hasCUDA()) all.emplace_back(at::kCUDA);
  return all;
}

class ArrayTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(14); }

  static std::shared_ptr<GridPositions> positions(int64_t lines, int64_t width, int64_t channels) {
    return std::make_shared<GridPositions>(
        grid_places(at::randn({lines, channels}) + 0.5, at::randn({width, channels})));
  }

  // One of each kind, with the elements it describes: 2 examples of 35 elements.
  struct Case {
    Array array;
    Tensor elements;
  };
  static std::vector<Case> cases() {
    const Tensor stored = at::randn({2, 35, 10}), rows = at::randn({35, 10});
    const Tensor vectors = at::randn({9, 10}), ids = at::randint(9, {2, 35}, at::kLong);
    const Tensor content = at::randn({2, 35, 4});
    const auto grid = positions(5, 7, 6);
    const Tensor features = positions_of(grid->places(), 0, 35).expand({2, -1, -1});
    return {{stored, stored},
            {Array(LearnedRows{rows}, 2), rows.expand({2, -1, -1})},
            {Array(LearnedSums{vectors, rows, ids}), at::embedding(vectors, ids) + rows},
            {Array(OnGrid{content, grid}), at::cat({content, features}, -1)}};
  }
};

TEST_F(ArrayTest, ElementsAreThoseItDescribes) {
  for (const auto& [array, elements] : cases()) {
    EXPECT_EQ(array.batch(), 2);
    EXPECT_EQ(array.elements(), 35);
    EXPECT_EQ(array.channels(), 10);
    EXPECT_TRUE(array.materialise().equal(elements));
  }
}

TEST_F(ArrayTest, SlicesAreRowsOfTheWholeStoredOrNot) {
  for (const auto& [array, elements] : cases()) {
    const Tensor before = array.slice(3, 20).slice(1, 9).materialise();
    EXPECT_TRUE(before.equal(elements.slice(1, 4, 12)));
    array.materialise();
    EXPECT_TRUE(array.slice(3, 20).slice(1, 9).materialise().equal(before));
    EXPECT_LE(largest_difference(array.slice(4, 12).normalised(at::kFloat, 16, true),
                                 array.normalised(at::kFloat, 16, true).slice(1, 4, 12)),
              1e-6);
  }
}

TEST_F(ArrayTest, OfAGridTellsWhichElementIsTheFirst) {
  const Array grid(OnGrid{at::randn({2, 35, 4}), positions(5, 7, 6)});
  EXPECT_EQ(grid.slice(9, 20).on_grid()->first, 9);
  EXPECT_EQ(grid.slice(9, 20).on_grid()->content.size(1), 11);
  EXPECT_FALSE(Array(grid.materialise()).on_grid());
}

TEST_F(ArrayTest, OfOneExampleIsRepeated) {
  const Tensor one = at::randn({1, 5, 3});
  const Array many = Array(one).repeated(4);
  EXPECT_TRUE(many.repeats());
  EXPECT_TRUE(many.materialise().equal(one.expand({4, -1, -1})));
  EXPECT_TRUE(Array(one.expand({4, -1, -1})).repeats());
  EXPECT_FALSE(Array(at::randn({4, 5, 3})).repeats());
}

TEST_F(ArrayTest, WhatIsKeptIsStoredOnce) {
  const Array grid(OnGrid{at::randn({2, 35, 4}), positions(5, 7, 6)});
  EXPECT_TRUE(grid.materialise().is_alias_of(Array(grid).slice(3, 9).materialise()));
  EXPECT_TRUE(grid.normalised(at::kFloat, 16, true)
                  .is_alias_of(grid.slice(3, 9).normalised(at::kFloat, 16, true)));
}

TEST_F(ArrayTest, GradientsReachWhatItIsMadeOf) {
  const Tensor content = at::randn({2, 35, 4}).requires_grad_(true);
  const Tensor vectors = at::randn({9, 10}).requires_grad_(true);
  const Tensor places = at::randn({40, 10}).requires_grad_(true);
  Array(OnGrid{content, positions(5, 7, 6)}).materialise().sum().backward();
  EXPECT_TRUE(content.grad().eq(1).all().item<bool>());
  Array(LearnedSums{vectors, places, at::full({2, 35}, 3, at::kLong)})
      .materialise()
      .sum()
      .backward();
  EXPECT_EQ(vectors.grad()[3][0].item<double>(), 70.0);
  EXPECT_EQ(places.grad()[34][0].item<double>(), 2.0);
  EXPECT_EQ(places.grad()[35][0].item<double>(), 0.0);
}

// On a GPU by a kernel that stores no elements.
TEST_F(ArrayTest, NormalisedRowsOfAGridAreThoseOfItsElements) {
  for (const at::Device device : devices()) {
    const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
    const auto grid = positions(6, 10, 258);
    // Content in rows, and in planes as a picture has it; none; and dtypes that differ.
    for (const Tensor& content :
         {at::randn({2, 60, 64}, options), at::randn({2, 3, 60}, options).transpose(1, 2),
          at::empty({2, 60, 0}, options), at::randn({2, 60, 5}, options.dtype(at::kFloat))}) {
      const Array array(OnGrid{content, grid});
      const int64_t channels = array.channels(), padded = padded_channels(channels + 1);
      const Tensor out = array.normalised(at::kBFloat16, padded, /*constant=*/true);
      ASSERT_EQ(out.sizes(), (std::vector<int64_t>{2, 60, padded}));
      EXPECT_LE(largest_difference(out.narrow(2, 0, channels), normalised(array.materialise())),
                3e-2);
      EXPECT_TRUE(out.select(2, channels).eq(1).all().item<bool>());
      EXPECT_TRUE(out.slice(2, channels + 1).eq(0).all().item<bool>());
    }
  }
}

TEST_F(ArrayTest, NormalisedRowsOfLearnedSumsAreThoseOfTheirElements) {
  for (const at::Device device : devices()) {
    const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
    const Array sums(LearnedSums{at::randn({10, 768}, options), at::randn({40, 768}, options),
                                 at::randint(10, {2, 30}, options.dtype(at::kLong))});
    const Tensor out = sums.normalised(at::kBFloat16, 768, /*constant=*/false);
    EXPECT_LE(largest_difference(out, normalised(sums.materialise())), 3e-2);
  }
}

}  // namespace
}  // namespace perceiver
