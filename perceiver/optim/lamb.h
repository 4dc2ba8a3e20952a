// LAMB as DeepMind's code uses it (optax.lamb): Adam's direction with decay, scaled by the ratio of
// a tensor's norm to its update's. The ratio is not clipped and holds for every tensor, biases too.
#pragma once

#include "perceiver/optim/optimizer.h"

namespace perceiver {

class Lamb : public Optimizer {
 public:
  using Optimizer::Optimizer;

 private:
  void apply(std::vector<Tensor> updates, double learning_rate) override;
  std::optional<FusedStep> fused_step() const override { return FusedStep::kLamb; }
};

}  // namespace perceiver
