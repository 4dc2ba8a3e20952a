// The training form of a linear layer by itself, as logits have: nn/fused.h is that of attends.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// x [..., in], weight [out, in], bias [out] -> [..., out]. Where modules are in their training form
// the products have channels in eights, and the gradients of both parameters come out of them in
// float32; at::linear() otherwise.
Tensor linear_layer(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace perceiver
