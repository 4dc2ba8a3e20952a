// Work in pieces that ranks share out among themselves, and what comes of them, put together again
// in the order of the pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace perceiver {

class Ranks;

struct SharedWork {
  // Does a piece, counted from 0 -> what comes of it; nothing: there is no such piece, nor any
  // after it. Rank r of R is asked for pieces r, r + R, …, in this order.
  std::function<std::optional<std::string>(int64_t piece)> work;
  // Gets what comes of each, in their order, as soon as it is there; on the first rank alone.
  std::function<void(int64_t piece, const std::string& result)> take;
};

// Returns when this rank's pieces are done; on the first, when all are taken. A rank that is far
// ahead of the others waits. However long a piece takes, no rank gives another one up that is still
// at it. Null: this process does all.
void share(Ranks* ranks, const SharedWork& shared);

}  // namespace perceiver
