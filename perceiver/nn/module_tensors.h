// Every tensor of a module that a checkpoint holds.
#pragma once

#include <torch/nn/module.h>

#include <map>
#include <string>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Parameters and buffers by name. The tensors are the module's own: what is copied into them is in
// the module.
std::map<std::string, Tensor> module_tensors(const torch::nn::Module& module);

}  // namespace perceiver
