#include "perceiver/train/weight_average.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace perceiver {

WeightAverage::WeightAverage(std::vector<NamedParameter> parameters, double share) : share_(share) {
  for (NamedParameter& parameter : parameters) {
    average_.push_back(parameter.value.detach().clone());
    parameters_.push_back(std::move(parameter.value));
    names_.push_back(std::move(parameter.name));
  }
}

void WeightAverage::update(int64_t step) {
  at::NoGradGuard no_grad;
  const double share = std::min(share_, (1.0 + step) / (10.0 + step));
  at::_foreach_lerp_(average_, parameters_, 1.0 - share);
}

NamedTensors WeightAverage::state() const {
  NamedTensors state;
  for (size_t i = 0; i < names_.size(); ++i) {
    state.emplace_back("average." + names_[i], average_[i]);
  }
  return state;
}

// Values are copied, not pointers: a recorded pass knows the parameters by where they are.
void WeightAverage::swap() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor own = parameters_[i].clone();
    parameters_[i].copy_(average_[i]);
    average_[i].copy_(own);
  }
}

WeightAverage::Scope::Scope(WeightAverage* average) : average_(average) {
  if (average_ != nullptr) average_->swap();
}

WeightAverage::Scope::~Scope() {
  if (average_ != nullptr) average_->swap();
}

}  // namespace perceiver
