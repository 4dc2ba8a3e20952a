#include "perceiver/model/average_project.h"

#include <ATen/ATen.h>

namespace perceiver {

AverageProjectImpl::AverageProjectImpl(int64_t latent_channels, int64_t output_channels)
    : output_(register_module("output",
                              Linear(latent_channels, output_channels, LinearInit::kZeros))) {}

Tensor AverageProjectImpl::forward(const Tensor& latents) {
  return output_(latents.mean(1, /*keepdim=*/true));
}

std::vector<Part> AverageProjectImpl::parts() const {
  return {{.name = "output", .parameters = num_parameters(*output_), .flops = output_->flops(1)}};
}

}  // namespace perceiver
