// A linear layer over rows together with what comes after it: by cuBLASLt on a GPU, which does both
// on its way out, by LibTorch's operations otherwise.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

struct Product {
  Tensor x;              // [..., K]
  Tensor weight, bias;   // [N, K], [N]
  Tensor residual = {};  // [..., N], added to the result; undefined: nothing is
  bool gelu = false;     // the tanh form, of the result
};

// x weight^T + bias, then the residual or GELU -> [..., N]
Tensor multiplied(const Product& product);

}  // namespace perceiver
