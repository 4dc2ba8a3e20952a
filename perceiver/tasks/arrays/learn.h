// What a config does not say and the training data do: sizes of arrays, numbers of categories, and
// the statistics that numbers are shifted and scaled by.
#pragma once

#include "perceiver/tasks/arrays/config.h"

namespace perceiver {

// Fills them in. A config that has them all reads no data; one that names no data stays as it is.
void learn_from_data(ArraysExperiment& experiment);

}  // namespace perceiver
