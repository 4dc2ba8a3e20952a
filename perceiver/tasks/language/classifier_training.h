// How classifiers of texts are trained and measured, on a user's labelled texts.
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/classifier_data.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

using TextClassifierExperiment = Experiment<TextClassifierConfig, TextClassifierDataConfig>;

std::unique_ptr<Training> text_classifier_training(const TextClassifierExperiment& experiment,
                                                   TextClassifier model);

}  // namespace perceiver
