#include "perceiver/modalities/image.h"

#include <ATen/ATen.h>

#include "perceiver/modalities/video.h"

namespace perceiver {
namespace {

constexpr int64_t kConvSize = 7, kPoolSize = 3, kStride = 2;

// TensorFlow's SAME: as many outputs as size / stride, rounded up; the odd pixel goes after.
struct Padding {
  int64_t before, after;
};
Padding same_padding(int64_t size, int64_t kernel) {
  const int64_t outputs = (size + kStride - 1) / kStride;
  const int64_t total = std::max<int64_t>((outputs - 1) * kStride + kernel - size, 0);
  return {total / 2, total - total / 2};
}

Tensor pad(const Tensor& x, int64_t kernel, double value) {
  const Padding y = same_padding(x.size(2), kernel), w = same_padding(x.size(3), kernel);
  return at::constant_pad_nd(x, {w.before, w.after, y.before, y.after}, value);
}

}  // namespace

Tensor pixels_to_elements(const Tensor& pixels) { return pixels.flatten(2).transpose(1, 2); }

Tensor neighbourhoods(const Tensor& pixels, int64_t size) {
  if (size == 1) return pixels_to_elements(pixels);
  const Tensor columns =
      at::im2col(pixels, {size, size}, /*dilation=*/{1, 1}, /*padding=*/{size / 2, size / 2},
                 /*stride=*/{1, 1});  // [B, C * size^2, H*W], channels outermost
  return columns.unflatten(1, {pixels.size(1), size * size}).permute({0, 3, 2, 1}).flatten(2);
}

Tensor pixels_to_patches(const Tensor& pixels, int64_t size) {
  return video_to_patches(pixels.unsqueeze(1), {.frames = 1, .height = size, .width = size});
}

ConvStageImpl::ConvStageImpl(int64_t in_channels, int64_t out_channels, ConvPadding padding)
    : padding_(padding),
      conv_(register_module("conv", Conv2d(Conv2dImpl::Shape{.in = in_channels,
                                                             .out = out_channels,
                                                             .size = kConvSize,
                                                             .stride = kStride,
                                                             .bias = false}))),
      norm_(register_module("norm", BatchNorm(out_channels))) {}

Tensor ConvStageImpl::forward(const Tensor& pixels) {
  if (padding_ == ConvPadding::kSymmetric) {
    const Tensor padded = at::constant_pad_nd(pixels, {3, 3, 3, 3});
    return at::max_pool2d(at::relu(norm_(conv_(padded))), kPoolSize, kStride);
  }
  const Tensor features = at::relu(norm_(conv_(pad(pixels, kConvSize, 0.0))));
  return at::max_pool2d(pad(features, kPoolSize, -INFINITY), kPoolSize, kStride);
}

std::vector<int64_t> ConvStageImpl::output_grid(at::IntArrayRef grid, ConvPadding padding) {
  std::vector<int64_t> result;
  for (const int64_t size : grid) {
    const int64_t half = (size + kStride - 1) / kStride;
    result.push_back(padding == ConvPadding::kSame ? (half + kStride - 1) / kStride
                                                   : (half - kPoolSize) / kStride + 1);
  }
  return result;
}

Part ConvStageImpl::part(at::IntArrayRef grid) const {
  int64_t outputs = 1;
  for (const int64_t size : grid) outputs *= (size + kStride - 1) / kStride;
  return {
      .name = "conv_stage", .parameters = num_parameters(*this), .flops = conv_->flops(outputs)};
}

}  // namespace perceiver
