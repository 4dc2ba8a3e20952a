#include "perceiver/nn/narrow_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace perceiver {
namespace {

struct Stack {
  Tensor all;
  std::vector<Tensor> parts;  // where each weight goes
};

Stack new_stack(at::TensorList weights, at::ScalarType dtype, int64_t out, int64_t in) {
  Stack stack{at::empty({out, in}, weights[0].options().dtype(dtype)), {}};
  int64_t row = 0;
  for (const Tensor& w : weights) {
    stack.parts.push_back(stack.all.narrow(0, row, w.size(0)).narrow(1, 0, w.size(1)));
    stack.parts.back().copy_(w);
    row += w.size(0);
  }
  if (row < out) stack.all.narrow(0, row, out - row).zero_();
  const int64_t channels = weights[0].size(1);
  if (channels < in) stack.all.narrow(1, channels, in - channels).zero_();
  return stack;
}

}  // namespace

void NarrowWeights::refresh() {
  at::NoGradGuard no_grad;
  std::vector<Tensor> to, from;  // of the same strides: all together is faster
  for (WeightCopy& c : copies_) {
    if (std::exchange(c.current, true)) continue;
    if (c.copy.strides() == c.weight.strides()) {
      to.push_back(c.copy);
      from.push_back(c.weight);
    } else {
      c.copy.copy_(c.weight);
    }
  }
  if (!to.empty()) at::_foreach_copy_(to, from);
}

Tensor NarrowWeights::stacked(at::TensorList weights, at::ScalarType dtype, int64_t out,
                              int64_t in) {
  Tensor& known = stacked_[{weights[0].const_data_ptr(), weights.size(), dtype, out, in}];
  if (known.defined()) return known;
  const Stack stack = new_stack(weights, dtype, out, in);
  for (size_t i = 0; i < weights.size(); ++i) {
    copies_.push_back({weights[i].detach(), stack.parts[i], /*current=*/true});
  }
  return known = stack.all;
}

Tensor stacked_weights(at::TensorList weights, at::ScalarType dtype, int64_t out, int64_t in) {
  NarrowWeights* kept = current_run().narrow_weights;
  return kept ? kept->stacked(weights, dtype, out, in) : new_stack(weights, dtype, out, in).all;
}

}  // namespace perceiver
