#pragma once

#include <memory>
#include <span>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

struct FusedParameter {
  Tensor value, first, second;  // float32, of one size; the moments are the optimiser's
  bool decayed;
};

// A weight [out, in] and a copy of it in another dtype, whose rows may lie apart.
struct WeightCopy {
  Tensor weight, copy;
  bool current;  // the copy has the weight's values
};

// The rules that there are kernels for (optimizer/optimizer_step.h).
enum class FusedStep { kAdamW, kLamb };

// A whole step of an optimiser in a few launches.
class FusedOptimizer {
 public:
  struct Rule {
    FusedStep step;
    double beta1, beta2, epsilon, weight_decay, clip;
  };

  // Null where the kernels cannot do it: not on a GPU, not float32, or not built.
  static std::unique_ptr<FusedOptimizer> make(const std::vector<FusedParameter>& parameters,
                                              const Rule& rule);
  virtual ~FusedOptimizer() = default;

  // The step with this number, from 1. The gradients count as divided by `divisor`, a scalar on
  // their device. Copies of the parameters that the kernels can write are written too, and are
  // current after that; the others are not. -> the norm of all gradients before clipping, likewise
  virtual Tensor step(const std::vector<Tensor>& gradients, const Tensor& divisor,
                      double learning_rate, int64_t number, std::span<WeightCopy> copies) = 0;
};

}  // namespace perceiver
