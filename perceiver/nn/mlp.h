#pragma once

#include "perceiver/nn/layers.h"
#include "perceiver/nn/semantics.h"

namespace perceiver {

Tensor gelu(const Tensor& x, Gelu form);

// Two linear layers with a GELU between, applied to every element alike (paper, App. E.1).
class MlpImpl : public torch::nn::Module {
 public:
  MlpImpl(int64_t channels, int64_t hidden_channels, Gelu form);

  Tensor forward(const Tensor& x);  // [B, N, D] -> [B, N, D]

  int64_t flops(int64_t elements) const;

  const Linear& widen() const { return widen_; }
  const Linear& narrow() const { return narrow_; }

 private:
  Gelu form_;
  Linear widen_{nullptr}, narrow_{nullptr};
};
TORCH_MODULE(Mlp);

}  // namespace perceiver
