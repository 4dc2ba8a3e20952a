#include "perceiver/tasks/task.h"

namespace perceiver {

Tensor to_model(const torch::nn::Module& module, const Tensor& x) {
  const Tensor weight = module.parameters().front();
  return x.is_floating_point() ? x.to(weight.device(), weight.scalar_type())
                               : x.to(weight.device());
}

Example to_model(const torch::nn::Module& module, const Example& x) {
  Example moved;
  for (const auto& [name, tensor] : x) moved[name] = to_model(module, tensor);
  return moved;
}

Tensor Task::forward_random(int64_t batch, Split split) {
  return forward(to_model(model(), random_inputs(batch)), split);
}

}  // namespace perceiver
