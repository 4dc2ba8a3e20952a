#include "perceiver/tasks/imagenet/data.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/media/resize.h"

namespace perceiver {
namespace {

// Of red, green and blue in [0, 1], over ImageNet's training pictures: the released constants.
Tensor colour_mean() { return at::tensor({0.485, 0.456, 0.406}, at::kFloat).view({3, 1, 1}); }
Tensor colour_deviation() { return at::tensor({0.229, 0.224, 0.225}, at::kFloat).view({3, 1, 1}); }

}  // namespace

Tensor resized_picture(const Tensor& pixels, const ImageNetConfig& config) {
  const ImageSize size{config.image_size, config.image_size};
  switch (config.semantics.bicubic) {
    case Bicubic::kPillow:
      return resize_bicubic_pillow(pixels, size);
    case Bicubic::kTensorFlow:
      return resize_bicubic_tensorflow(pixels, size);
    case Bicubic::kOpenCv:
      break;
  }
  return resize_cubic_opencv(pixels, size);
}

Tensor evaluation_crop(const Tensor& pixels, const ImageNetConfig& config) {
  const int64_t height = pixels.size(1), width = pixels.size(2);
  const double shorter = static_cast<double>(std::min(height, width));
  const int64_t side = std::max<int64_t>(1, static_cast<int64_t>(config.crop * shorter));
  // The odd pixel goes before the crop, as released.
  const Tensor crop = pixels.narrow(1, (height - side + 1) / 2, side)
                          .narrow(2, (width - side + 1) / 2, side)
                          .contiguous();
  return resized_picture(crop, config);
}

Tensor normalised(const Tensor& pixels) {
  // The copy of a few bytes does not have to wait for what a GPU has to do before.
  const auto near = [&](const Tensor& x) { return x.to(pixels.device(), /*non_blocking=*/true); };
  return (pixels.to(at::kFloat) / 255.0 - near(colour_mean())) / near(colour_deviation());
}

Tensor denormalised(const Tensor& pixels) {
  const Tensor values = pixels.to(at::kCPU, at::kFloat) * colour_deviation() + colour_mean();
  return (values * 255.0).round().clamp(0, 255).to(at::kByte);
}

}  // namespace perceiver
