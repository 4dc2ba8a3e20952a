// The neighbourhoods of pixels as rows of a product: by a kernel of our own on a GPU, by LibTorch's
// operations otherwise.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// Of pictures side by side, [B, n, C, H, W] -> [B, H*W, P]: picture, row, column, colour, zeros
// outside the picture; P is their number filled up with zeros to padded_channels().
Tensor neighbourhood_rows(const Tensor& pictures, int64_t size);

}  // namespace perceiver
