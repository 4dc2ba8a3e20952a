// Products through cuBLASLt. In a program built without CUDA kernels there are none.
#pragma once

#include "perceiver/kernels/linear/linear.h"

namespace perceiver {

// 16-bit elements, rows of whole 16 bytes, and a residual or GELU but not both.
bool cuda_product_takes(const Product& product);
Tensor cuda_multiplied(const Product& product);

// The same by each algorithm that would be considered, for tests: all give the same bits.
std::vector<Tensor> cuda_multiplied_by_each(const Product& product);

}  // namespace perceiver
