#include "perceiver/optim/lamb.h"

#include <ATen/ATen.h>

namespace perceiver {

void Lamb::apply(std::vector<Tensor> updates, double learning_rate) {
  std::vector<Tensor> with_decay;
  for (const size_t i : decayed_at_) with_decay.push_back(updates[i]);
  if (!with_decay.empty()) at::_foreach_add_(with_decay, decayed_, options_.weight_decay);

  const Tensor sizes = at::stack(at::_foreach_norm(values_));
  const Tensor lengths = at::stack(at::_foreach_norm(updates));
  // A tensor of zeros, as biases start, moves by the plain update.
  const Tensor ratios = at::where((sizes == 0.0).logical_or(lengths == 0.0), 1.0, sizes / lengths);
  at::_foreach_mul_(updates, (ratios * -learning_rate).unbind());
  at::_foreach_add_(values_, updates);
}

}  // namespace perceiver
