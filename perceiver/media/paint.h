// Pictures of numbers: colour maps, overlays and pictures side by side.
#pragma once

#include <optional>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// values [H, W] in [0, 1] -> uint8 [3, H, W], from dark violet over red to light yellow, ever
// brighter, so that it also reads in grey.
Tensor heat_colours(const Tensor& values);

// The heat colours of `values` [h, w], spread between 0 and `largest` (their own, unless given: the
// frames of a clip share one), laid over a picture uint8 [3, H, W], which shows through where
// values are small. Values are enlarged to the picture's size, a cell staying a cell.
Tensor heat_map(const Tensor& picture, const Tensor& values, std::optional<double> largest = {});

// Pictures uint8 [3, H, W] of one height beside each other, or of one width below each other, with
// `gap` white pixels between them.
Tensor beside(const std::vector<Tensor>& pictures, int64_t gap = 0);
Tensor below(const std::vector<Tensor>& pictures, int64_t gap = 0);

// As many pictures of one size as there are, in rows of `columns`.
Tensor contact_sheet(const std::vector<Tensor>& pictures, int64_t columns, int64_t gap = 4);

}  // namespace perceiver
