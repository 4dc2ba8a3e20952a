// How models of flow are trained and measured (paper, Sec. 4.2, App. H).
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/optical_flow/data.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

using FlowExperiment = Experiment<OpticalFlowConfig, FlowDataConfig>;

std::unique_ptr<Training> flow_training(const FlowExperiment& experiment, OpticalFlow model);

}  // namespace perceiver
