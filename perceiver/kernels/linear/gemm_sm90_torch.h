// Products that leave what the next LayerNorm needs, and those that use it: product_hopper for
// tensors. In a program built without CUDA kernels there are none.
#pragma once

#include "perceiver/kernels/linear/linear.h"

namespace perceiver {

// A residual, 16-bit elements, rows of whole 16 bytes, and a GPU that has the kernel.
bool cuda_measured_product_takes(const Product& product);
MeasuredRows cuda_multiplied_and_measured(const Product& product, int64_t channels);

// Rows that have moments, and a layer of whole 16 bytes too.
bool cuda_normed_product_takes(const MeasuredRows& x, const NormedLayer& layer);
Tensor cuda_multiplied_normed(const MeasuredRows& x, const NormedLayer& layer, bool gelu);

}  // namespace perceiver
