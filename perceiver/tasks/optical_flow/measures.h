// How far a flow is from the truth, and from its own way back.
#pragma once

#include <span>

#include "perceiver/media/flow.h"

namespace perceiver {

// Over the pixels where the truth is known. Shares are in [0, 1]; without any pixel all are 0.
struct FlowMeasures {
  int64_t num_pixels = 0;
  double epe = 0.0;  // end-point error: the mean distance to the true vector, in pixels
  double above_1 = 0.0, above_3 = 0.0, above_5 = 0.0;  // pixels with a larger error than so many
  double fl_all = 0.0;  // KITTI's: an error above 3 px and above 5 % of the true vector's length
};

// Fails unless the flow of `name` has the frames' size.
void check_same_size(const FlowField& truth, const std::string& name, int64_t height,
                     int64_t width);

FlowMeasures measure_flow(const Tensor& flow, const FlowField& truth);  // flow [2, H, W]

// Of all pictures together, each pixel counting alike.
FlowMeasures pooled(std::span<const FlowMeasures> measures);

// The error of each pixel in heat colours, from none to the largest by its logarithm (one outlier
// would leave the rest dark), grey where the truth is unknown -> uint8 [3, H, W]
Tensor error_picture(const Tensor& flow, const FlowField& truth);

// The values [C, H, W] at the pixels that flow [2, H, W] leads to, between four neighbours, and
// whether these lie inside -> [C, H, W], bool [H, W]
std::pair<Tensor, Tensor> follow(const Tensor& values, const Tensor& flow);

// Where the way there and back ends where it began, as usual (Sundaram et al. 2010):
// |f + b|^2 < 0.01 (|f|^2 + |b|^2) + 0.5, b taken where f leads to. Other pixels are occluded, or
// leave the frame, or one of the flows is wrong. forward, backward [2, H, W] -> bool [H, W]
Tensor consistent(const Tensor& forward, const Tensor& backward);

}  // namespace perceiver
