#include "perceiver/train/skipped_examples.h"

#include <gtest/gtest.h>

#include "perceiver/ranks/ranks_test.h"

namespace perceiver {
namespace {

TEST(SkippedExamples, AreSaidOnceAndTheMostOfThemByTheirNumber) {
  std::vector<std::string> said;
  SkippedExamples skipped([&](const std::string& line) { said.push_back(line); });
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 1; i <= 120; ++i) skipped.add("row " + std::to_string(i));
  }
  EXPECT_EQ(skipped.count(), 120);
  const std::vector<std::string> expected = {
      "row 1; skipped",
      "row 2; skipped",
      "row 3; skipped",
      "row 4; skipped",
      "row 5; skipped, and more such without a line each",
      "10 examples could not be read so far; the last: row 10",
      "100 examples could not be read so far; the last: row 100"};
  EXPECT_EQ(said, expected);
}

TEST(SkippedExamples, OfSeveralRanksAreCountedOnce) {
  std::vector<int64_t> counts(2);
  as_ranks(2, [&](Ranks& ranks) {
    SkippedExamples skipped([](const std::string&) {});
    for (int i = 0; i < 3; ++i) skipped.add("row " + std::to_string(i + ranks.rank()));
    counts[ranks.rank()] = skipped.count_of(ranks);
  });
  EXPECT_EQ(counts, std::vector<int64_t>(2, 4));  // 0 to 2, and 1 to 3
}

}  // namespace
}  // namespace perceiver
