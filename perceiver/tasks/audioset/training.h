// How models of clips and sounds are trained and measured (paper, App. C).
#pragma once

#include "perceiver/tasks/audioset/data.h"
#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

using AudioSetExperiment = Experiment<AudioSetConfig, AudioSetDataConfig>;

std::unique_ptr<Training> audioset_training(const AudioSetExperiment& experiment, AudioSet model);

// uint8 [V, T, 3, H, W] as the model takes it: in [0, 1], of its dtype.
Tensor seen(const Tensor& video, const torch::nn::Module& model);

}  // namespace perceiver
