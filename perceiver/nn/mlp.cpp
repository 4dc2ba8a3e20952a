#include "perceiver/nn/mlp.h"

#include <ATen/ATen.h>

namespace perceiver {

Tensor gelu(const Tensor& x, Gelu form) {
  return at::gelu(x, form == Gelu::kTanh ? "tanh" : "none");
}

MlpImpl::MlpImpl(int64_t channels, int64_t hidden_channels, Gelu form)
    : form_(form),
      widen_(register_module("widen", Linear(channels, hidden_channels, LinearInit::kAttend))),
      narrow_(register_module("narrow", Linear(hidden_channels, channels, LinearInit::kAttend))) {}

Tensor MlpImpl::forward(const Tensor& x) { return narrow_(gelu(widen_(x), form_)); }

int64_t MlpImpl::flops(int64_t elements) const {
  return widen_->flops(elements) + narrow_->flops(elements);
}

}  // namespace perceiver
