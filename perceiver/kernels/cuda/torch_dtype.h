// LibTorch's name of a dtype as the kernels say it. For host code only.
#pragma once

#include <c10/core/ScalarType.h>

#include "perceiver/kernels/cuda/dtype.h"

namespace perceiver {

inline CudaDtype cuda_dtype(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return CudaDtype::kBFloat16;
  return dtype == at::kHalf ? CudaDtype::kFloat16 : CudaDtype::kFloat32;
}

}  // namespace perceiver
