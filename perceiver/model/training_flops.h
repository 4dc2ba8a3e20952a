// What a training step costs, where some of the model's parts are frozen.
#pragma once

#include <torch/nn/module.h>

#include "perceiver/model/summary.h"

namespace perceiver {

// Operations of a step on one example: forward, and twice that backward, for the gradients of a
// part's weights and of its inputs. A part that is frozen needs none of its weights', and none at
// all where everything before it is frozen too.
double training_flops(const ModelSummary& summary, const torch::nn::Module& model);

}  // namespace perceiver
