#include "perceiver/nn/module_tensors.h"

namespace perceiver {

std::map<std::string, Tensor> module_tensors(const torch::nn::Module& module) {
  std::map<std::string, Tensor> tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) tensors[item.key()] = item.value();
  return tensors;
}

}  // namespace perceiver
