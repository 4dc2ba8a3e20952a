// What the references' differences mean for a model's settings.
#pragma once

#include <string>

#include "perceiver/tasks/model.h"
#include "perceiver/tasks/multimodal/config.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {

// Sets what computes as this reference does: the switches of Semantics, and the query residual with
// learned image positions.
void set_semantics(Settings& settings, Reference reference);

// Whose arithmetic the settings ask for: "computes as DeepMind's code does", and the like.
std::string semantics_text(const Settings& settings);

// As many queries in training as the paper's, or all there are in a smaller model.
TrainQueries fitting_train_queries(const MultimodalConfig& config);

}  // namespace perceiver
