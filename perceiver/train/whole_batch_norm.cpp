#include "perceiver/train/whole_batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace perceiver {

WholeBatchNorm::WholeBatchNorm(torch::nn::Module& model) {
  for (const auto& module : model.modules(/*include_self=*/false)) {
    const auto norm = std::dynamic_pointer_cast<BatchNormImpl>(module);
    if (!norm) continue;
    norms_.push_back({BatchNorm(norm), BatchParts(*norm)});
    set_parts(*norm, norms_.back().parts);
  }
}

WholeBatchNorm::~WholeBatchNorm() {
  for (Norm& norm : norms_) unset_parts(*norm.module);
}

std::vector<Tensor> WholeBatchNorm::statistics() const {
  std::vector<Tensor> all;
  for (const Norm& norm : norms_) {
    all.push_back(norm.parts->mean());
    all.push_back(norm.parts->variance());
  }
  return all;
}

void WholeBatchNorm::count(const std::function<void()>& pass,
                           const std::function<void(const std::vector<Tensor>&)>& sum) {
  for (Norm& norm : norms_) {
    norm.parts->begin_count();
    pass();
    sum({norm.parts->sums()});
    norm.parts->end_count(*norm.module);
  }
}

void WholeBatchNorm::send_back(const std::vector<Tensor>& gradients,
                               const std::function<std::vector<Tensor>()>& pass) {
  const size_t first = gradients.size() - 2 * norms_.size();  // of the statistics
  for (size_t i = norms_.size(); i-- > 0;) {
    BatchParts& parts = norms_[i].parts;
    parts->begin_send_back(gradients[first + 2 * i], gradients[first + 2 * i + 1]);
    const std::vector<Tensor> returned = pass();
    parts->end_send_back();
    at::NoGradGuard no_grad;
    for (size_t j = 0; j < returned.size(); ++j) {
      if (returned[j].defined()) gradients[j].add_(returned[j]);
    }
  }
}

}  // namespace perceiver
