// The original Perceiver's decoder, the paper's baseline (App. E.3): mean of the latents, then
// one linear layer.
#pragma once

#include "perceiver/model/summary.h"
#include "perceiver/nn/layers.h"

namespace perceiver {

class AverageProjectImpl : public torch::nn::Module {
 public:
  AverageProjectImpl(int64_t latent_channels, int64_t output_channels);

  Tensor forward(const Tensor& latents);  // [B, N, D] -> [B, 1, E]

  std::vector<Part> parts() const;

 private:
  Linear output_{nullptr};
};
TORCH_MODULE(AverageProject);

}  // namespace perceiver
