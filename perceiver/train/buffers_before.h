#pragma once

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Buffers change in a forward pass: the statistics of batch norm. A pass that does not count gives
// them back.
class BuffersBefore {
 public:
  explicit BuffersBefore(const torch::nn::Module& module) : buffers_(module.buffers()) {
    for (const Tensor& buffer : buffers_) before_.push_back(buffer.clone());
  }
  void restore() {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(before_[i]);
  }

 private:
  std::vector<Tensor> buffers_, before_;
};

}  // namespace perceiver
