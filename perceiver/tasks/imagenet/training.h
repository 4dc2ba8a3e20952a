// How models of pictures are trained and measured (paper, App. A).
#pragma once

#include "perceiver/tasks/experiment.h"
#include "perceiver/tasks/imagenet/dataset.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

using ImageExperiment = Experiment<ImageNetConfig, ImageNetDataConfig>;

std::unique_ptr<Training> image_training(const ImageExperiment& experiment, ImageNet model);

}  // namespace perceiver
