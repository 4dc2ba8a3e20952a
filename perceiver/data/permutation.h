// A random order of many elements without a table of them.
#pragma once

#include <bit>
#include <cstdint>

#include "perceiver/core/rng.h"

namespace perceiver {

// Which of `count` elements stands at `place` in the order that `key` gives: a Feistel network over
// the next power of four, walked until it comes to an element there is.
inline int64_t permuted(int64_t place, int64_t count, uint64_t key) {
  constexpr int kTurns =
      6;  // four pass for random (Luby and Rackoff); halves of few bits need more
  const int half = (std::bit_width(static_cast<uint64_t>(count - 1)) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  auto x = static_cast<uint64_t>(place);
  do {
    uint64_t left = x >> half, right = x & mask;
    for (int turn = 0; turn < kTurns; ++turn) {
      const uint64_t mixed = left ^ (scramble(key + scramble(right * kTurns + turn)) & mask);
      left = right;
      right = mixed;
    }
    x = left << half | right;
  } while (x >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(x);
}

}  // namespace perceiver
