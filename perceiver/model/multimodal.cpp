#include "perceiver/model/multimodal.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace perceiver {

ModalityPaddingImpl::ModalityPaddingImpl(const std::map<std::string, int64_t>& channels,
                                         int64_t min_padding) {
  int64_t widest = 0;
  for (const auto& [name, own] : channels) widest = std::max(widest, own);
  channels_ = widest + min_padding;
  for (const auto& [name, own] : channels) {
    padding_[name] = register_parameter(name, new_parameter({channels_ - own}, kLearnedVectors));
  }
}

Modalities ModalityPaddingImpl::forward(const Modalities& arrays) {
  Modalities padded;
  for (const auto& [name, array] : arrays) {
    const Tensor& padding = padding_.at(name);
    check_shape(array, {kAny, kAny, channels_ - padding.size(0)}, name);
    padded[name] = at::cat({array, padding.expand({array.size(0), array.size(1), -1})}, -1);
  }
  return padded;
}

ModalityMaskImpl::ModalityMaskImpl(const std::vector<std::string>& modalities, int64_t channels) {
  for (const std::string& name : modalities) {
    tokens_[name] = register_parameter(name, new_parameter({channels}, kLearnedVectors));
  }
}

Modalities ModalityMaskImpl::forward(const Modalities& arrays, const Modalities& hidden) {
  Modalities masked = arrays;
  for (const auto& [name, where] : hidden) {
    Tensor& array = masked.at(name);
    array = at::where(where.unsqueeze(-1), tokens_.at(name), array);
  }
  return masked;
}

Tensor pack(const Modalities& arrays) {
  std::vector<Tensor> in_order;
  for (const auto& [name, array] : arrays) in_order.push_back(array);
  return at::cat(in_order, 1);
}

Modalities take_apart(const Tensor& outputs, const std::map<std::string, int64_t>& sizes) {
  Modalities arrays;
  int64_t begin = 0;
  for (const auto& [name, size] : sizes) {
    arrays[name] = outputs.narrow(1, begin, size);
    begin += size;
  }
  TORCH_INTERNAL_ASSERT(begin == outputs.size(1));
  return arrays;
}

}  // namespace perceiver
