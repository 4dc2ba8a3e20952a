#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "perceiver/kernels/optimizer/fused_optimizer.h"
#include "perceiver/kernels/optimizer/optimizer_step.h"

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

// Whether the copy is one of the whole parameter, element by element.
bool writes(const FusedParameter& p, const WeightCopy& c) {
  const Tensor &value = p.value, &to = c.copy;
  return to.is_cuda() && to.scalar_type() == at::kBFloat16 && to.dim() == 2 &&
         to.sizes() == c.weight.sizes() && (to.size(1) == 1 || to.stride(1) == 1) &&
         to.stride(0) >= to.size(1) && c.weight.is_contiguous() && value.is_contiguous() &&
         c.weight.const_data_ptr() == value.const_data_ptr() && to.numel() == value.numel() &&
         to.numel() < int64_t{1} << 32;
}

class FusedOnDevice : public FusedOptimizer {
 public:
  FusedOnDevice(std::vector<FusedParameter> parameters, const Rule& rule)
      : parameters_(std::move(parameters)),
        step_(rule.step),
        rule_{rule.beta1, rule.beta2, rule.epsilon, rule.weight_decay, rule.clip} {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      places_[parameters_[i].value.const_data_ptr()] = i;
    }
  }

  Tensor step(const std::vector<Tensor>& gradients, const Tensor& divisor, double learning_rate,
              int64_t number, std::span<WeightCopy> copies) override {
    const Tensor& value = parameters_[0].value;
    const c10::cuda::CUDAGuard guard(value.device());
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    place(gradients, choose(copies), stream);
    const FusedRates rates = fused_rates(rule_, learning_rate, number);
    C10_CUDA_CHECK(set_rates(table_, &rates, stream));
    const Tensor weight = divisor.to(at::kFloat);
    const auto run = step_ == FusedStep::kLamb ? lamb_step : adamw_step;
    C10_CUDA_CHECK(run(table_, rule_, weight.const_data_ptr<float>(), stream));
    // What was derived from the parameters must know that they changed.
    for (const FusedParameter& p : parameters_) p.value.unsafeGetTensorImpl()->bump_version();
    return at::from_blob(table_.gradient_norm, {}, value.options()).clone();
  }

 private:
  struct Copy {
    void* at = nullptr;
    int64_t channels = 0, stride = 0;
    bool operator==(const Copy&) const = default;
  };

  // The copy of each parameter that is written: the first that can be. It counts as current.
  std::vector<Copy> choose(std::span<WeightCopy> copies) const {
    std::vector<Copy> chosen(parameters_.size());
    for (WeightCopy& c : copies) {
      const auto found = places_.find(c.weight.const_data_ptr());
      c.current = found != places_.end() && chosen[found->second].at == nullptr &&
                  writes(parameters_[found->second], c);
      if (!c.current) continue;
      chosen[found->second] = {c.copy.data_ptr(), c.copy.size(1), c.copy.stride(0)};
    }
    return chosen;
  }

  // The table, and again the gradients' addresses where they have moved.
  void place(const std::vector<Tensor>& gradients, std::vector<Copy> copies, cudaStream_t stream) {
    std::vector<const float*> now;
    for (const Tensor& g : gradients) now.push_back(g.const_data_ptr<float>());
    const bool first = addresses_.empty() || copies != copies_;
    if (now == addresses_ && !first) return;
    addresses_ = std::move(now);
    copies_ = std::move(copies);
    if (!first) {
      C10_CUDA_CHECK(set_gradients(table_, addresses_.data(), stream));
      return;
    }
    std::vector<FusedTensor> tensors;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const FusedParameter& p = parameters_[i];
      tensors.push_back({p.value.data_ptr<float>(), addresses_[i], p.first.data_ptr<float>(),
                         p.second.data_ptr<float>(), p.value.numel(), p.decayed, copies_[i].at,
                         copies_[i].channels, copies_[i].stride});
    }
    memory_ = at::empty({static_cast<int64_t>(fused_table_bytes(tensors))},
                        parameters_[0].value.options().dtype(at::kByte).requires_grad(false));
    C10_CUDA_CHECK(build_fused_table(tensors, memory_.data_ptr(), &table_, stream));
  }

  std::vector<FusedParameter> parameters_;
  FusedStep step_;
  FusedRule rule_;
  Tensor memory_;
  FusedTable table_;
  std::vector<const float*> addresses_;
  std::vector<Copy> copies_;
  std::unordered_map<const void*, size_t> places_;  // of parameters, by where their values are
};

}  // namespace

std::unique_ptr<FusedOptimizer> FusedOptimizer::make(const std::vector<FusedParameter>& parameters,
                                                     const Rule& rule) {
  if (parameters.empty() || !std::all_of(parameters.begin(), parameters.end(), takes)) return {};
  return std::make_unique<FusedOnDevice>(parameters, rule);
}

}  // namespace perceiver
