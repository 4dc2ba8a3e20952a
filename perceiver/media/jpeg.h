// JPEG by libjpeg.
#pragma once

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

bool is_jpeg(std::string_view bytes);

// uint8 [1, H, W] or [3, H, W], upright. A file that is cut short is an error, unlike in libjpeg,
// which fills the rest with grey.
Tensor decode_jpeg(const File& file);

}  // namespace perceiver
