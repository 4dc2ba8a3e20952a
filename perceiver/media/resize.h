// Resizing as the released pipelines do it, to within a grey level of the libraries they call.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

struct ImageSize {
  int64_t height, width;
  bool operator==(const ImageSize&) const = default;
};

// OpenCV's INTER_CUBIC: a = -0.75, four neighbours, no antialiasing. uint8 [C, H, W] -> [C, h, w].
Tensor resize_cubic_opencv(const Tensor& pixels, ImageSize size);

// OpenCV's INTER_LINEAR, two neighbours, no antialiasing.
Tensor resize_linear_opencv(const Tensor& pixels, ImageSize size);

// Pillow's BICUBIC: a = -0.5, as wide as the reduction asks, rounded to 8 bits between the passes.
Tensor resize_bicubic_pillow(const Tensor& pixels, ImageSize size);

// Pillow's BILINEAR, likewise.
Tensor resize_bilinear_pillow(const Tensor& pixels, ImageSize size);

// TensorFlow's tf.image.resize(..., BICUBIC) without antialiasing: a = -0.5, four neighbours at
// places in 1024ths of a pixel; those outside the picture count nothing and the others' weights are
// scaled up to a sum of 1. -> float [C, h, w] of grey levels, neither rounded nor kept in [0, 255].
Tensor resize_bicubic_tensorflow(const Tensor& pixels, ImageSize size);

}  // namespace perceiver
