// Activation recomputation: the backward pass computes a module's forward pass again instead of
// keeping what it held. Memory for time; the gradients are the same.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/run.h"

namespace perceiver {

// While it lives, recompute() on this thread keeps a module's inputs alone.
struct RecomputeScope : RunScope {
  explicit RecomputeScope(bool on) : RunScope([&](Run& run) { run.recompute = on; }) {}
};

bool recomputes_now();  // recompute() on this thread

// forward(inputs), which uses no parameters but the module's. Undefined inputs are allowed.
using Forward = std::function<Tensor(const std::vector<Tensor>& inputs)>;
Tensor recompute(torch::nn::Module& module, const std::vector<Tensor>& inputs,
                 const Forward& forward);

}  // namespace perceiver
