#pragma once

#include <exception>

#include "perceiver/ranks/ranks.h"

namespace perceiver {

// Thrown out of the middle of a step or an evaluation that is not to be finished.
struct Dropped : std::exception {
  explicit Dropped(int reason) : why(reason) {}
  int why;  // what TrainerOptions::look said
};

// Does `work`, in which this rank waits for no other. What one of them drops all drop. Null: there
// are no others.
template <typename Work>
void drop_together(Ranks* ranks, const Work& work) {
  if (ranks == nullptr) return work();
  int why = 0;
  try {
    work();
  } catch (const Dropped& dropped) {
    why = dropped.why;
  }
  if (const int64_t of_any = ranks->most(why)) throw Dropped(static_cast<int>(of_any));
}

}  // namespace perceiver
