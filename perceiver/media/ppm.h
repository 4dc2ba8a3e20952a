// Netpbm's binary pictures: P5 (grey) and P6 (colour).
#pragma once

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

bool is_ppm(std::string_view bytes);

// uint8 [1, H, W] or [3, H, W]; samples up to another maximum than 255 are scaled to it.
Tensor decode_ppm(const File& file);

// uint8 [3, H, W] -> the bytes of a P6.
std::string encode_ppm(const Tensor& pixels);

}  // namespace perceiver
