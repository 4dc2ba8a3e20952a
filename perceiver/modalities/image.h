// Pixels to elements of an array (paper, App. A and H), for one picture and for pairs of frames.
#pragma once

#include <vector>

#include "perceiver/model/summary.h"
#include "perceiver/nn/layers.h"
#include "perceiver/nn/semantics.h"

namespace perceiver {

// [B, C, H, W] -> [B, H*W, C], rows first
Tensor pixels_to_elements(const Tensor& pixels);

// The size x size neighbourhood of each pixel, zeros outside: [B, C, H, W] -> [B, H*W, size^2 * C],
// in the released weights' order: row, column, channel.
Tensor neighbourhoods(const Tensor& pixels, int64_t size);

// Space to depth: the size x size patches that fill the picture, [B, C, H, W] ->
// [B, H/size * W/size, size^2 * C], rows first, in the order of neighbourhoods.
Tensor pixels_to_patches(const Tensor& pixels, int64_t size);

// The convolution stage (App. A.3): 7x7 convolution of stride 2, batch norm, ReLU, 3x3 max-pool of
// stride 2.
class ConvStageImpl : public torch::nn::Module {
 public:
  ConvStageImpl(int64_t in_channels, int64_t out_channels, ConvPadding padding);

  Tensor forward(const Tensor& pixels);  // [B, in, H, W] -> [B, out, H/4, W/4]

  // Height and width after the stage: 224 -> 56, or 55 with Hugging Face's padding.
  static std::vector<int64_t> output_grid(at::IntArrayRef grid, ConvPadding padding);

  Part part(at::IntArrayRef grid) const;

 private:
  ConvPadding padding_;
  Conv2d conv_{nullptr};
  BatchNorm norm_{nullptr};
};
TORCH_MODULE(ConvStage);

}  // namespace perceiver
