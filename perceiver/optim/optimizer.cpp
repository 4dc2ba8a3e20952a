#include "perceiver/optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace perceiver {

bool is_decayed(const std::string& name) {
  if (name == "bias" || name.ends_with(".bias")) return false;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part == "norm" || part.starts_with("norm_")) return false;
    begin = end + 1;
  }
  return true;
}

Optimizer::Optimizer(std::vector<NamedParameter> parameters, const OptimizerOptions& options)
    : options_(options) {
  for (const auto& [name, value] : parameters) {
    if (is_decayed(name)) {
      decayed_.push_back(value);
      decayed_at_.push_back(values_.size());
    }
    names_.push_back(name);
    values_.push_back(value);
    first_.push_back(at::zeros_like(value).detach());
    second_.push_back(at::zeros_like(value).detach());
  }
}

std::vector<Tensor> Optimizer::gradients() const {
  std::vector<Tensor> all;
  for (const Tensor& value : values_) {
    TORCH_INTERNAL_ASSERT(value.grad().defined());
    all.push_back(value.grad());
  }
  return all;
}

FusedOptimizer* Optimizer::fused(double clip) {
  if (fused_clip_ == clip) return fused_.get();
  fused_clip_ = clip;
  const std::optional<FusedStep> step = fused_step();
  if (!step) return nullptr;
  std::vector<FusedParameter> parameters;
  for (size_t i = 0; i < values_.size(); ++i) {
    parameters.push_back({values_[i], first_[i], second_[i], is_decayed(names_[i])});
  }
  fused_ = FusedOptimizer::make(parameters, {*step, options_.beta1, options_.beta2,
                                             options_.epsilon, options_.weight_decay, clip});
  return fused_.get();
}

Tensor Optimizer::step(double learning_rate, const Tensor& weight, double clip,
                       std::span<WeightCopy> copies) {
  at::NoGradGuard no_grad;
  const std::vector<Tensor> all = gradients();
  if (FusedOptimizer* fast = fused(clip)) {
    return fast->step(all, weight, learning_rate, ++steps_, copies);
  }
  for (WeightCopy& c : copies) c.current = false;
  at::_foreach_div_(all, weight);
  const Tensor norm = clip_by_global_norm(all, clip);
  step(learning_rate);
  return norm;
}

void Optimizer::step(double learning_rate) {
  at::NoGradGuard no_grad;
  const std::vector<Tensor> gradients = this->gradients();
  ++steps_;
  at::_foreach_mul_(first_, options_.beta1);
  at::_foreach_add_(first_, gradients, 1.0 - options_.beta1);
  at::_foreach_mul_(second_, options_.beta2);
  at::_foreach_addcmul_(second_, gradients, gradients, 1.0 - options_.beta2);

  const double correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
  const double correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
  std::vector<Tensor> denominators = at::_foreach_sqrt(second_);
  at::_foreach_div_(denominators, std::sqrt(correction2));
  at::_foreach_add_(denominators, options_.epsilon);
  std::vector<Tensor> updates = at::_foreach_div(first_, correction1);
  at::_foreach_div_(updates, denominators);
  apply(std::move(updates), learning_rate);
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> state;
  for (size_t i = 0; i < names_.size(); ++i) {
    state.emplace_back("first." + names_[i], first_[i]);
    state.emplace_back("second." + names_[i], second_[i]);
  }
  return state;
}

Tensor clip_by_global_norm(const std::vector<Tensor>& gradients, double clip) {
  at::NoGradGuard no_grad;
  const Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  if (clip > 0.0) {
    // optax's rule: nothing changes below the limit. Without a look at the norm: a GPU is ahead.
    const Tensor scale = (clip / norm).clamp_max(1.0);
    at::_foreach_mul_(gradients, scale);
  }
  return norm;
}

}  // namespace perceiver
