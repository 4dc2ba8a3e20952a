// How long a training will take, in words.
#pragma once

#include <string>

#include "perceiver/tasks/train_config.h"

namespace perceiver {

std::string about_time(double seconds);  // "40 seconds", "12 minutes", "29 hours", "3 days"

// What is still to do, as far as the first step lets one tell.
struct RestOfRun {
  int64_t steps = 0, evaluations = 0;
  double seconds_per_step = 0.0, seconds_per_evaluation = 0.0;

  double evaluating() const { return static_cast<double>(evaluations) * seconds_per_evaluation; }
  double seconds() const { return static_cast<double>(steps) * seconds_per_step + evaluating(); }
};

// "10499 steps to go: about 29 hours, 2 hours of that for 21 evaluations". Empty where it is not
// worth a line.
std::string rest_line(const RestOfRun& rest);

// Where a training on a CPU takes long: settings that would be quicker. Empty: nothing to say.
std::string cpu_advice(const RestOfRun& rest, const TrainConfig& config);

}  // namespace perceiver
