#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// Whether every example of x [B, ...] is the same memory, as expand() makes it.
inline bool repeats_one_example(const Tensor& x) { return x.size(0) > 1 && x.stride(0) == 0; }

}  // namespace perceiver
