#pragma once

#include <exception>

namespace perceiver {

// Thrown out of the middle of a step or an evaluation that is not to be finished.
struct Dropped : std::exception {
  explicit Dropped(int reason) : why(reason) {}
  int why;  // what TrainerOptions::look said
};

}  // namespace perceiver
