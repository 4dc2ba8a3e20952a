// Adam with decoupled weight decay: the decay is a step of its own, not part of the gradient.
#pragma once

#include "perceiver/optim/optimizer.h"

namespace perceiver {

class AdamW : public Optimizer {
 public:
  using Optimizer::Optimizer;

 private:
  void apply(std::vector<Tensor> updates, double learning_rate) override;
  std::optional<FusedStep> fused_step() const override { return FusedStep::kAdamW; }
};

}  // namespace perceiver
