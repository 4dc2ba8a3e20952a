#include "perceiver/bench/measure.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(Spread, MedianAndQuartilesAreThoseOfTheSortedValues) {
  const Spread s = spread_of({5.0, 1.0, 4.0, 2.0, 3.0});
  EXPECT_EQ(s.median, 3.0);
  EXPECT_EQ(s.lower_quartile, 2.0);
  EXPECT_EQ(s.upper_quartile, 4.0);
  EXPECT_EQ(s.fastest, 1.0);
  EXPECT_EQ(s.slowest, 5.0);
}

TEST(Spread, BetweenTwoValuesLiesTheirMean) {
  const Spread s = spread_of({4.0, 1.0, 2.0, 3.0});
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.lower_quartile, 1.75);
  EXPECT_EQ(s.upper_quartile, 3.25);
}

TEST(Spread, OneValueIsAllOfThem) {
  const Spread s = spread_of({7.0});
  EXPECT_EQ(s.median, 7.0);
  EXPECT_EQ(s.lower_quartile, 7.0);
  EXPECT_EQ(s.upper_quartile, 7.0);
}

TEST(Spread, ABusyMomentDoesNotMoveTheMedian) {
  EXPECT_EQ(spread_of({1.0, 1.0, 1.0, 1.0, 90.0}).median, 1.0);
}

TEST(Measure, CountsThePassesAfterTheWarmUp) {
  int passes = 0;
  const std::vector<double> seconds = measure([&] { ++passes; }, at::kCPU, enough(4, 0.0));
  EXPECT_EQ(seconds.size(), 4);
  EXPECT_EQ(passes, 5);
}

TEST(Measure, InARowCountsThePassesAfterTheFirstTwo) {
  const bool gpu = at::hasCUDA();
  int passes = 0;
  const std::vector<double> seconds =
      measure([&] { ++passes; }, gpu ? at::Device(at::kCUDA, 0) : at::kCPU, enough(4, 0.0),
              Passes::kInARow);
  EXPECT_EQ(seconds.size(), 4);
  EXPECT_EQ(passes, gpu ? 5 + 2 + 4 : 1 + 4);
}

TEST(Measure, StopsWhenItIsToldTo) {
  const auto never = [](const std::vector<double>&) { return false; };
  EXPECT_TRUE(measure([] {}, at::kCPU, never).empty());
}

TEST(Measure, TakesThreePassesHoweverLongTheyAre) {
  const GoOn go_on = enough(0, 1.0);
  EXPECT_TRUE(go_on({50.0, 50.0}));
  EXPECT_FALSE(go_on({50.0, 50.0, 50.0}));
  EXPECT_TRUE(go_on({0.1, 0.1, 0.1, 0.1}));
  EXPECT_FALSE(go_on(std::vector<double>(1000, 0.0)));
}

}  // namespace
}  // namespace perceiver
