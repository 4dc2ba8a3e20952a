#include "perceiver/tasks/task.h"

#include "perceiver/core/error.h"

namespace perceiver {

Example Task::read(std::span<const File>) const { fail("models of this task read no files yet"); }

Tensor Task::classify(const Example&) { fail("models of this task have no classes"); }

Tensor Task::encode(const Example&) { fail("models of this task have no latents"); }

std::vector<InputView> Task::views(const Example&) const {
  fail("inputs of this task cannot be drawn yet");
}

Tensor in_place_of(const torch::nn::Module& module, const Tensor& x) {
  const Tensor weight = module.parameters().front();
  return x.is_floating_point() ? x.to(weight.device(), weight.scalar_type())
                               : x.to(weight.device());
}

}  // namespace perceiver
