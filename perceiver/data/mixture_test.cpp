#include "perceiver/data/mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "perceiver/core/rng.h"
#include "perceiver/data/permutation.h"

namespace perceiver {
namespace {

TEST(Mixture, EverySourceHasItsShareToWithinOneAtEveryTurn) {
  Rng rng(1);
  for (int draw = 0; draw < 100; ++draw) {
    std::vector<int64_t> weights(1 + rng.integer(6));
    for (int64_t& weight : weights) weight = 1 + rng.integer(100);
    if (draw == 0) weights = {70, 30};
    const auto all =
        static_cast<double>(std::accumulate(weights.begin(), weights.end(), int64_t{0}));
    const Mixture mixture(weights);
    std::vector<int64_t> had(weights.size());
    for (int64_t g = 0; g < 1500; ++g) {
      const auto [source, number] = mixture.turn(g);
      EXPECT_EQ(number, had[source]++);
      for (size_t i = 0; i < weights.size(); ++i) {
        const double share = static_cast<double>(weights[i]) / all * static_cast<double>(g + 1);
        ASSERT_LT(std::abs(share - static_cast<double>(had[i])), 1.0) << draw << " " << g;
      }
    }
  }
}

TEST(Permutation, HasEveryElementOnceInAnOrderOfTheKey) {
  for (const int64_t count : {1, 2, 3, 4, 5, 16, 17, 100, 1000, 4097}) {
    std::set<int64_t> seen;
    int64_t same = 0, in_place = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t element = permuted(i, count, 7);
      EXPECT_TRUE(element >= 0 && element < count);
      seen.insert(element);
      same += element == permuted(i, count, 8);
      in_place += element == i;
    }
    EXPECT_EQ(std::ssize(seen), count);
    // One of each on average; as many as eight once in a hundred thousand orders.
    EXPECT_TRUE(count < 16 || std::max(same, in_place) < 8) << count;
  }
}

TEST(Permutation, PutsEveryElementAtEveryPlaceAsOften) {
  constexpr int64_t kCount = 6, kDraws = 6000;
  std::vector<std::vector<int64_t>> times(kCount, std::vector<int64_t>(kCount));
  for (int64_t key = 0; key < kDraws; ++key) {
    for (int64_t i = 0; i < kCount; ++i) ++times[i][permuted(i, kCount, scramble(key))];
  }
  // 1000 each, up to five standard deviations of sqrt(6000 * 1/6 * 5/6) = 29.
  for (const auto& row : times) {
    for (const int64_t count : row) EXPECT_NEAR(count, kDraws / kCount, 5 * 29);
  }
}

}  // namespace
}  // namespace perceiver
