#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// A forward pass that a GPU is told once and repeats: the third call with the same sizes records
// its kernels as a CUDA graph, later ones replay it without the time to launch them one by one.
// Where that cannot be (on a CPU, with gradients, while somebody observes attention), it is called.
class RecordedForward {
 public:
  using Forward = std::function<Tensor(const std::vector<Tensor>& inputs)>;

  RecordedForward();
  ~RecordedForward();

  // forward(inputs), which depends on them and on the module's parameters alone. Inputs may be
  // undefined.
  Tensor operator()(const torch::nn::Module& module, const std::vector<Tensor>& inputs,
                    const Forward& forward);

 private:
  class Recordings;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace perceiver
