#include "perceiver/nn/batch_parts.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace perceiver {
namespace {

constexpr const char* kName = "batch_parts";

Tensor per_channel(const Tensor& t) { return t.view({1, -1, 1, 1}); }

}  // namespace

BatchPartsImpl::BatchPartsImpl(const BatchNormImpl& norm)
    : sums_(at::zeros({1 + 2 * norm.weight.numel()}, norm.weight.options().dtype(at::kDouble))
                .detach()),
      mean_(at::zeros_like(norm.weight).detach().set_requires_grad(true)),
      variance_(at::ones_like(norm.weight).detach().set_requires_grad(true)) {}

void BatchPartsImpl::begin_count() {
  phase_ = Phase::kCount;
  sums_.zero_();
}

// Sums of x and its squares in float64, where their difference loses nothing.
void BatchPartsImpl::end_count(BatchNormImpl& norm) {
  at::NoGradGuard no_grad;
  phase_ = Phase::kNormalise;
  const int64_t channels = mean_.numel();
  const Tensor mean = sums_.slice(0, 1, 1 + channels) / sums_[0];
  const Tensor variance = sums_.slice(0, 1 + channels) / sums_[0] - mean.square();
  mean_.copy_(mean);
  variance_.copy_(variance.clamp_min(0.0));
  update_running(norm, mean_, variance_);
}

// Per value of the input: d mean / dx = 1 / n, d variance / dx = 2 (x - mean) / n.
void BatchPartsImpl::begin_send_back(const Tensor& mean_gradient, const Tensor& variance_gradient) {
  at::NoGradGuard no_grad;
  phase_ = Phase::kSendBack;
  const Tensor count = sums_[0].to(mean_.scalar_type());
  mean_gradient_ = mean_gradient / count;
  variance_gradient_ = variance_gradient * 2.0 / count;
}

std::pair<Tensor, Tensor> BatchPartsImpl::statistics(const Tensor& x) {
  if (phase_ == Phase::kNormalise) return {mean_, variance_};
  if (phase_ == Phase::kCount) {
    at::NoGradGuard no_grad;
    // As a batch norm by itself takes them, so that rounding in float32 is of what is left.
    const auto dtype = x.element_size() < 4 ? at::kFloat : x.scalar_type();
    const Tensor mean = x.mean({0, 2, 3}, /*keepdim=*/false, dtype);
    const Tensor variance = (x - per_channel(mean)).square().mean({0, 2, 3});
    const double count = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
    const Tensor m = mean.to(at::kDouble), v = variance.to(at::kDouble);
    sums_.add_(at::cat({at::ones({1}, m.options()), m, v + m.square()}), count);
    throw BatchNormReached();
  }
  if (x.requires_grad()) {
    at::NoGradGuard no_grad;
    const Tensor gradient =
        per_channel(mean_gradient_) + (x - per_channel(mean_)) * per_channel(variance_gradient_);
    x.backward(gradient.to(x.scalar_type()));
  }
  throw BatchNormReached();
}

BatchPartsImpl* parts_of(const BatchNormImpl& norm) {
  for (const auto& child : norm.children()) {
    if (auto* parts = child->as<BatchPartsImpl>()) return parts;
  }
  return nullptr;
}

void set_parts(BatchNormImpl& norm, const BatchParts& parts) { norm.register_module(kName, parts); }

void unset_parts(BatchNormImpl& norm) { norm.unregister_module(kName); }

void update_running(BatchNormImpl& norm, const Tensor& mean, const Tensor& variance) {
  constexpr double kDecay = 0.9;
  at::NoGradGuard no_grad;
  norm.num_batches += 1;
  const Tensor share = (1.0 - kDecay) / (1.0 - at::pow(kDecay, norm.num_batches));
  norm.running_mean += share * (mean - norm.running_mean);
  norm.running_var += share * (variance - norm.running_var);
}

}  // namespace perceiver
