// Activation recomputation: the backward pass computes a module's forward pass again instead of
// keeping what it held. Memory for time; the gradients are the same.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// While it lives, recompute() on this thread keeps a module's inputs alone.
class RecomputeScope {
 public:
  explicit RecomputeScope(bool on);
  ~RecomputeScope();
  RecomputeScope(const RecomputeScope&) = delete;

 private:
  bool before_;
};

bool recomputes_now();  // recompute() on this thread

// forward(inputs), which uses no parameters but the module's. Undefined inputs are allowed.
using Forward = std::function<Tensor(const std::vector<Tensor>& inputs)>;
Tensor recompute(torch::nn::Module& module, const std::vector<Tensor>& inputs,
                 const Forward& forward);

}  // namespace perceiver
