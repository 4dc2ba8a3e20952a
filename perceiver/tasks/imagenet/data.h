// Pictures as the released models see them when they are evaluated.
#pragma once

#include "perceiver/tasks/imagenet/model.h"

namespace perceiver {

// uint8 [3, H, W] -> [3, S, S], by the bicubic of the model's semantics: uint8, or float by
// TensorFlow's.
Tensor resized_picture(const Tensor& pixels, const ImageNetConfig& config);

// uint8 [3, H, W] of any size -> [3, S, S]: first the middle square, then resized_picture(), as in
// both references (not "resize to 256, crop 224").
Tensor evaluation_crop(const Tensor& pixels, const ImageNetConfig& config);

// uint8 or float [..., 3, H, W], grey levels -> float, less the mean of ImageNet's colours and over
// their deviation; and back.
Tensor normalised(const Tensor& pixels);
Tensor denormalised(const Tensor& pixels);

}  // namespace perceiver
