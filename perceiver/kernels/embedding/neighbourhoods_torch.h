// The kernel of gather_neighbourhoods.h as a function of tensors. In a program built without it, it
// refuses.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

bool cuda_neighbourhoods_take(const Tensor& pictures, int64_t size);
Tensor cuda_neighbourhood_rows(const Tensor& pictures, int64_t size);

}  // namespace perceiver
