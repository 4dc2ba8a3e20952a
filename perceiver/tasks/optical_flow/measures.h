// How far a flow is from the truth, and from its own way back.
#pragma once

#include <map>
#include <span>
#include <string>

#include "perceiver/media/flow.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/tasks/optical_flow/pair.h"

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

// Held-out pictures, added up by name for flow_figures(), which gives the figures of papers:
//   epe        the mean over all pixels; of KITTI over its pictures' means, as RAFT's evaluate.py.
//              Of several sets the mean of theirs, each as often as it has pictures
//   epe_clean, epe_final, epe_kitti   of Sintel's passes and of KITTI alone, where there are any
//   above_1, above_3, above_5, fl_all   shares of all pixels
void add_picture(Measures& all, const FlowMeasures& picture, FlowSet set);
std::map<std::string, double> flow_figures(const Measures& all);

// The error of each pixel in heat colours, from none to the largest by its logarithm (one outlier
// would leave the rest dark), grey if unknown -> uint8 [3, H, W], from W = 128 on above a scale
Tensor error_picture(const Tensor& flow, const FlowField& truth);

// The values [C, H, W] at the pixels that flow [2, H, W] leads to, between four neighbours, and
// whether these lie inside -> [C, H, W], bool [H, W]
std::pair<Tensor, Tensor> follow(const Tensor& values, const Tensor& flow);

// Where the way there and back ends where it began, as usual (Sundaram et al. 2010):
// |f + b|^2 < 0.01 (|f|^2 + |b|^2) + 0.5, b taken where f leads to. Other pixels are occluded, or
// leave the frame, or one of the flows is wrong. forward, backward [2, H, W] -> bool [H, W]
Tensor consistent(const Tensor& forward, const Tensor& backward);

}  // namespace perceiver
