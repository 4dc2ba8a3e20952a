// Places along index axes to elements that are patches of them, and back.
#pragma once

#include "perceiver/tasks/arrays/layout.h"

namespace perceiver {

// values [index…, C] -> [M, places of a patch * C]
Tensor to_elements(const Tensor& values, const ElementsLayout& layout);

// elements [n, M, places of a patch * C] -> [n, index…, C]
Tensor from_elements(const Tensor& elements, const ElementsLayout& layout);

}  // namespace perceiver
