// How models of GLUE are fine-tuned and measured (paper, Sec. 4.1, App. F.4), of one task or of all
// at once: Perceiver IO and BERT alike.
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/glue/bert.h"
#include "perceiver/tasks/glue/data.h"
#include "perceiver/tasks/glue/model.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

template <typename ModelConfig>
using GlueExperiment = Experiment<ModelConfig, GlueDataConfig>;

std::unique_ptr<Training> glue_training(const GlueExperiment<GlueConfig>& experiment, Glue model);
std::unique_ptr<Training> glue_training(const GlueExperiment<GlueBertConfig>& experiment,
                                        GlueBert model);

}  // namespace perceiver
