// Words and numbers in pictures: capitals, digits and a few signs, five pixels wide and seven high.
#pragma once

#include <string_view>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Where the text has ink: bool [7 scale, (6 n - 1) scale] for n characters, one pixel apart. Small
// letters become capitals, what there is no form for a gap.
Tensor lettering(std::string_view text, int64_t scale = 1);

// A picture uint8 [3, H, W] with the text in black on a white ground, two pixels larger on each
// side, whose lower right corner is at (bottom, right); unchanged where that does not fit.
Tensor with_text(const Tensor& picture, std::string_view text, int64_t bottom, int64_t right,
                 int64_t scale = 1);

// A picture below its caption: uint8 [3, H + 20, W]. The letters are large where there is room;
// what does not fit is cut off.
Tensor captioned(const Tensor& picture, std::string_view caption);

}  // namespace perceiver
