#include "perceiver/core/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace perceiver {
namespace {

TEST(Rng, IsAFunctionOfSeedEpochIndexAndPurpose) {
  std::set<uint64_t> first;
  for (uint64_t seed : {0, 1}) {
    for (uint64_t epoch : {0, 1}) {
      for (uint64_t index : {0, 1}) {
        for (uint64_t purpose : {0, 1}) {
          first.insert(Rng(seed, epoch, index, purpose).bits());
          EXPECT_EQ(Rng(seed, epoch, index, purpose).bits(),
                    Rng(seed, epoch, index, purpose).bits());
        }
      }
    }
  }
  EXPECT_EQ(first.size(), 16u);
}

// A run that is resumed years later draws the same: these values are part of the format.
TEST(Rng, DrawsTheSameInEveryRelease) {
  EXPECT_EQ(scramble(0), 0xE220A8397B1DCDAF);  // splitmix64's published first output
  Rng rng(7, 3, 2);
  const std::array<int64_t, 5> expected = {4, 28, 45, 2, 33};
  for (const int64_t value : expected) EXPECT_EQ(rng.integer(100), value);
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  constexpr int kDraws = 100'000;
  double uniform = 0.0, normal = 0.0, squares = 0.0;
  Rng rng(1);
  for (int i = 0; i < kDraws; ++i) {
    uniform += rng.uniform(2.0, 4.0);
    const double x = rng.normal();
    normal += x;
    squares += x * x;
  }
  // Five standard errors: 0.58 / sqrt(n), 1 / sqrt(n), 1.41 / sqrt(n).
  EXPECT_NEAR(uniform / kDraws, 3.0, 5 * 0.58 / 316.0);
  EXPECT_NEAR(normal / kDraws, 0.0, 5 / 316.0);
  EXPECT_NEAR(squares / kDraws, 1.0, 5 * 1.41 / 316.0);
}

TEST(Rng, IntegersReachBothEndsAndNoFurther) {
  std::array<int, 3> counts = {};
  Rng rng(5);
  for (int i = 0; i < 3000; ++i) ++counts.at(rng.integer(3));
  for (const int count : counts) EXPECT_NEAR(count, 1000, 130);  // five standard errors of 26
}

}  // namespace
}  // namespace perceiver
