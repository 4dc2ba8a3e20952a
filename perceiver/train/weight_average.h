// An exponential moving average of the parameters over the steps of a training. It is smoother than
// the parameters of any one step, and often measures better.
#pragma once

#include <vector>

#include "perceiver/optim/optimizer.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

class WeightAverage {
 public:
  // Begins as the parameters are. `share` of the average stays at each step.
  WeightAverage(std::vector<NamedParameter> parameters, double share);

  // After step `step`, counted from 1. The share grows up to its own from 2 / 11, as
  // (1 + step) / (10 + step), so that the first parameters are soon forgotten.
  void update(int64_t step);

  // "average.<parameter>". The tensors themselves: loading copies into them.
  NamedTensors state() const;

  // While it lives, the parameters have the averaged values. A null average: their own.
  class Scope {
   public:
    explicit Scope(WeightAverage* average);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    WeightAverage* average_;
  };

 private:
  void swap();

  double share_;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_, average_;
};

}  // namespace perceiver
