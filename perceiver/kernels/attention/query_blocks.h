// Attention a block of queries at a time, where the scores of all would not fit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace perceiver {

// How many scores there may be at one time.
constexpr int64_t kScoresOfCpu = int64_t{1} << 22;   // what a CPU's last cache holds
constexpr int64_t kScoresOfGpu = int64_t{1} << 28;   // what fills a GPU
constexpr int64_t kScoresOfWide = int64_t{1} << 29;  // of one head on a GPU, without gradients
constexpr int64_t kScoresOfLook = int64_t{1} << 24;  // beside a pass that they are no part of

// Queries whose scores exist at one time.
inline int64_t queries_of_block(int64_t most_scores, int64_t scores_of_query) {
  return std::max<int64_t>(1, most_scores / std::max<int64_t>(1, scores_of_query));
}

// visit(begin, count) for blocks of `block` queries; the last may be smaller.
template <typename Visit>
void for_each_block(int64_t queries, int64_t block, const Visit& visit) {
  for (int64_t begin = 0; begin < queries; begin += block) {
    visit(begin, std::min(block, queries - begin));
  }
}

}  // namespace perceiver
