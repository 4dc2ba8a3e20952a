// How a picture that was stored on its side or mirrored is to be shown: EXIF's eight orientations.
#pragma once

#include <string_view>

#include "perceiver/core/tensor.h"

namespace perceiver {

// From the content of a JPEG's APP1 segment: 1 to 8, and 1 where it does not say, or is broken, as
// viewers do.
int exif_orientation(std::string_view segment);

// Turns and mirrors a picture [C, H, W] stored in this orientation upright.
Tensor upright(const Tensor& pixels, int orientation);

}  // namespace perceiver
