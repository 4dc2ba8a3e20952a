#include "perceiver/train/shared_optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

#include "perceiver/optim/adamw.h"
#include "perceiver/optim/lamb.h"

namespace perceiver {
namespace {

std::unique_ptr<Optimizer> make(std::vector<NamedParameter> parameters, const TrainConfig& config) {
  const OptimizerOptions rule = {.beta1 = config.beta1,
                                 .beta2 = config.beta2,
                                 .epsilon = config.epsilon,
                                 .weight_decay = config.weight_decay};
  if (config.optimizer == OptimizerKind::kLamb) {
    return std::make_unique<Lamb>(std::move(parameters), rule);
  }
  return std::make_unique<AdamW>(std::move(parameters), rule);
}

}  // namespace

std::vector<int64_t> owners_of(const std::vector<Tensor>& tensors, int64_t count) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return tensors[i].numel(); });
  std::vector<int64_t> owners(tensors.size()), held(count);
  for (const size_t i : order) {
    const auto least = std::ranges::min_element(held);
    owners[i] = least - held.begin();
    *least += tensors[i].numel();
  }
  return owners;
}

SharedOptimizer::SharedOptimizer(std::vector<NamedParameter> parameters, const TrainConfig& config,
                                 Ranks* ranks)
    : ranks_(ranks), is_shared_(ranks != nullptr && config.shard_optimizer) {
  for (const auto& [name, value] : parameters) {
    names_.push_back(name);
    values_.push_back(value);
  }
  owners_ = owners_of(values_, is_shared_ ? ranks_->size() : 1);
  const int64_t rank = is_shared_ ? ranks_->rank() : 0;
  std::vector<NamedParameter> own;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (owners_[i] == rank) own.push_back(parameters[i]);
  }
  optimizer_ = make(std::move(own), config);
}

Tensor SharedOptimizer::step(double learning_rate, const Tensor& weight, double clip,
                             std::span<WeightCopy> copies) {
  if (!is_shared_) return optimizer_->step(learning_rate, weight, clip, copies);
  const at::NoGradGuard no_grad;
  for (WeightCopy& c : copies) c.current = false;
  std::vector<Tensor> gradients;
  for (const Tensor& value : values_) gradients.push_back(value.grad());
  at::_foreach_div_(gradients, weight);
  const Tensor norm = clip_by_global_norm(gradients, clip);
  if (optimizer_->state().empty()) {
    optimizer_->set_steps(optimizer_->steps() + 1);  // there are more ranks than tensors
  } else {
    optimizer_->step(learning_rate);
  }
  for (int64_t rank = 0; rank < ranks_->size(); ++rank) {
    std::vector<Tensor> changed;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (owners_[i] == rank) changed.push_back(values_[i]);
    }
    ranks_->broadcast(changed, rank);
  }
  return norm;
}

template <typename Use>
void SharedOptimizer::for_each_moment(const Use& use) const {
  const NamedTensors own = own_state();
  const TensorMap found(own.begin(), own.end());
  for (size_t i = 0; i < names_.size(); ++i) {
    for (const char* moment : {"first.", "second."}) {
      const std::string name = moment + names_[i];
      const auto mine = found.find(name);
      use(name, owners_[i], mine != found.end() ? mine->second : at::zeros_like(values_[i]));
    }
  }
}

// One tensor after another, so that no rank needs room for more.
NamedTensors SharedOptimizer::gather_state() const {
  if (!is_shared_) return own_state();
  const at::NoGradGuard no_grad;
  NamedTensors whole;
  for_each_moment([&](const std::string& name, int64_t owner, const Tensor& tensor) {
    if (owner != 0) ranks_->broadcast({tensor}, owner);
    if (ranks_->is_first()) whole.emplace_back(name, owner == 0 ? tensor : tensor.cpu());
  });
  return whole;
}

std::string SharedOptimizer::take_state(const TensorMap& whole) {
  const at::NoGradGuard no_grad;
  for (const std::string& name : names_) {
    for (const char* moment : {"first.", "second."}) {
      if (!whole.contains(moment + name)) return moment + name;
    }
  }
  for (const auto& [name, tensor] : own_state()) Tensor(tensor).copy_(whole.at(name));
  if (is_shared_) taken_ = whole;
  return "";
}

void SharedOptimizer::spread_state() {
  if (ranks_ == nullptr) return;
  const at::NoGradGuard no_grad;
  for_each_moment([&](const std::string& name, int64_t owner, const Tensor& tensor) {
    if (is_shared_ && owner == 0) return;
    const auto taken = taken_.find(name);
    if (taken != taken_.end()) tensor.copy_(taken->second);
    ranks_->broadcast({tensor});
  });
  taken_.clear();
}

}  // namespace perceiver
