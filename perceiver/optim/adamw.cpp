#include "perceiver/optim/adamw.h"

#include <ATen/ATen.h>

namespace perceiver {

void AdamW::apply(std::vector<Tensor> updates, double learning_rate) {
  if (!decayed_.empty()) at::_foreach_mul_(decayed_, 1.0 - learning_rate * options_.weight_decay);
  at::_foreach_add_(values_, updates, -learning_rate);
}

}  // namespace perceiver
