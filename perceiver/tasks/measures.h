// What a task says of a batch: the loss it is trained on, and what is measured on held-out
// examples.
#pragma once

#include <map>
#include <string>

#include "perceiver/core/tensor.h"

namespace perceiver {

// The loss of a batch is sum / weight, two scalars on the model's device. Kept apart so that small
// batches add up to a large one, however unevenly the weight (masked bytes, say) falls on them.
struct Loss {
  Tensor sum, weight;
};

// What was measured on some examples. Those of more examples are added, name by name.
struct Measure {
  double sum = 0.0, weight = 0.0;
};
using Measures = std::map<std::string, Measure>;

// By which measure a model is the best so far.
struct MainMeasure {
  std::string name;
  bool lower_is_better = true;
};

}  // namespace perceiver
