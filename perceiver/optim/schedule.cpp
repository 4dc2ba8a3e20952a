#include "perceiver/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace perceiver {

// From 1 to 0 as `share` goes from 0 to 1.
static double cosine(double share) {
  return 0.5 * (1.0 + std::cos(std::numbers::pi * std::clamp(share, 0.0, 1.0)));
}

double constant_cosine(double learning_rate, int64_t step, int64_t steps, double constant_share) {
  const double constant = constant_share * static_cast<double>(steps);
  if (static_cast<double>(step) < constant) return learning_rate;
  const double rest = std::max(1.0, static_cast<double>(steps) - constant);
  return learning_rate * cosine((static_cast<double>(step) - constant) / rest);
}

double warmup_cosine(double learning_rate, int64_t step, int64_t steps, int64_t warmup_steps) {
  if (step < warmup_steps) {
    return learning_rate * static_cast<double>(step) / static_cast<double>(warmup_steps);
  }
  const double rest = static_cast<double>(std::max<int64_t>(1, steps - warmup_steps));
  return learning_rate * cosine(static_cast<double>(step - warmup_steps) / rest);
}

}  // namespace perceiver
