// How masked language models are trained and measured (paper, Sec. 4.1, App. F): Perceiver IO and
// BERT are asked the same.
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/data.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

template <typename ModelConfig>
using LanguageExperiment = Experiment<ModelConfig, LanguageDataConfig>;

std::unique_ptr<Training> language_training(const LanguageExperiment<LanguageConfig>& experiment,
                                            Language model);
std::unique_ptr<Training> language_training(const LanguageExperiment<BertConfig>& experiment,
                                            Bert model);

}  // namespace perceiver
