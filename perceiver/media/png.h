// PNG by libpng.
#pragma once

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

bool is_png(std::string_view bytes);

// As stored, palettes looked up and samples of less than 8 bits spread to 8: uint8 [C, H, W], or
// int [C, H, W] where a sample has 16 bits. C is 1 for grey, 3 for RGB, and one more with alpha.
Tensor decode_png(const File& file);

// int [C, H, W] in [0, 65535] -> the bytes of a PNG of 16 bits.
std::string encode_png_of_16_bits(const Tensor& pixels);

}  // namespace perceiver
