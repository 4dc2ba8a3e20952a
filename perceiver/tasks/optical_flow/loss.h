// What optical flow is trained on.
#pragma once

#include "perceiver/core/tensor.h"
#include "perceiver/tasks/measures.h"

namespace perceiver {

// uint8 -> float in [-1, 1], any shape
Tensor to_model_range(const Tensor& pixels);

// The end-point error: the distance between two vectors, over the pixels where the truth is known.
// flow, truth [B, 2, H, W], valid [B, H, W]. The paper does not state its loss; the released
// model's scale says that flow / 20 was trained on, so both are expected in that unit.
Loss end_point_error(const Tensor& flow, const Tensor& truth, const Tensor& valid);

}  // namespace perceiver
