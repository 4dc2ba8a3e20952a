#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <mutex>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/graph_recorder.h"

namespace perceiver {

// A forward pass that a GPU is told once and repeats: the third call with the same sizes records
// it. Where that cannot be (on a CPU, with gradients, while somebody observes attention), it is
// called.
class RecordedForward {
 public:
  using Forward = std::function<Tensor(const std::vector<Tensor>& inputs)>;

  // forward(inputs), which depends on them and on the module's parameters alone. Inputs may be
  // undefined.
  Tensor operator()(const torch::nn::Module& module, const std::vector<Tensor>& inputs,
                    const Forward& forward);

 private:
  std::mutex mutex_;  // held until a replay's output is copied
  std::vector<Tensor> parameters_;
  GraphRecorder recorder_;
};

}  // namespace perceiver
