#include "perceiver/kernels/cuda/fused_optimizer.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "perceiver/kernels/cuda/optimizer.h"

namespace perceiver {
namespace {

bool takes(const FusedParameter& p) {
  for (const Tensor& x : {p.value, p.first, p.second}) {
    if (!x.is_cuda() || x.scalar_type() != at::kFloat || !x.is_non_overlapping_and_dense()) {
      return false;
    }
  }
  // Moments made like their parameter lie in memory like it.
  return p.first.strides() == p.value.strides() && p.second.strides() == p.value.strides();
}

class FusedOnDevice : public FusedOptimizer {
 public:
  FusedOnDevice(std::vector<FusedParameter> parameters, const Rule& rule)
      : parameters_(std::move(parameters)),
        lamb_(rule.lamb),
        rule_{rule.beta1, rule.beta2, rule.epsilon, rule.weight_decay, rule.clip} {}

  Tensor step(const std::vector<Tensor>& gradients, const Tensor& divisor, double learning_rate,
              int64_t number) override {
    const Tensor& value = parameters_[0].value;
    const c10::cuda::CUDAGuard guard(value.device());
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    place(gradients, stream);
    const FusedRates rates = fused_rates(rule_, learning_rate, number);
    C10_CUDA_CHECK(set_rates(table_, &rates, stream));
    const Tensor weight = divisor.to(at::kFloat);
    const auto run = lamb_ ? lamb_step : adamw_step;
    C10_CUDA_CHECK(run(table_, rule_, weight.const_data_ptr<float>(), stream));
    // What was derived from the parameters must know that they changed.
    for (const FusedParameter& p : parameters_) p.value.unsafeGetTensorImpl()->bump_version();
    return at::from_blob(table_.gradient_norm, {}, value.options()).clone();
  }

 private:
  // The table, and again the gradients' addresses where they have moved.
  void place(const std::vector<Tensor>& gradients, cudaStream_t stream) {
    std::vector<const float*> now;
    for (const Tensor& g : gradients) now.push_back(g.const_data_ptr<float>());
    if (now == addresses_) return;
    const bool first = addresses_.empty();
    addresses_ = std::move(now);
    if (!first) {
      C10_CUDA_CHECK(set_gradients(table_, addresses_.data(), stream));
      return;
    }
    std::vector<FusedTensor> tensors;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const FusedParameter& p = parameters_[i];
      tensors.push_back({p.value.data_ptr<float>(), addresses_[i], p.first.data_ptr<float>(),
                         p.second.data_ptr<float>(), p.value.numel(), p.decayed});
    }
    memory_ = at::empty({static_cast<int64_t>(fused_table_bytes(tensors))},
                        parameters_[0].value.options().dtype(at::kByte).requires_grad(false));
    C10_CUDA_CHECK(build_fused_table(tensors, memory_.data_ptr(), &table_, stream));
  }

  std::vector<FusedParameter> parameters_;
  bool lamb_;
  FusedRule rule_;
  Tensor memory_;
  FusedTable table_;
  std::vector<const float*> addresses_;
};

}  // namespace

std::unique_ptr<FusedOptimizer> FusedOptimizer::make(const std::vector<FusedParameter>& parameters,
                                                     const Rule& rule) {
  if (parameters.empty() || !std::all_of(parameters.begin(), parameters.end(), takes)) return {};
  return std::make_unique<FusedOnDevice>(parameters, rule);
}

}  // namespace perceiver
