// Random shares of Beta(parameter, parameter), as MixUp draws them.
#pragma once

#include <cmath>

#include "perceiver/core/rng.h"

namespace perceiver {

// At most 1. Johnk's method: quick while the parameter is at most 1.
inline double beta(double parameter, Rng& rng) {
  for (;;) {
    const double x = std::pow(1.0 - rng.uniform(), 1.0 / parameter);
    const double y = std::pow(1.0 - rng.uniform(), 1.0 / parameter);
    if (x + y <= 1.0 && x + y > 0.0) return x / (x + y);
  }
}

}  // namespace perceiver
