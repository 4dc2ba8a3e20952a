// Pictures of flow: the colour wheel of the Middlebury benchmark, and arrows.
#pragma once

#include <optional>

#include "perceiver/media/flow.h"

namespace perceiver {

// The hues of Baker et al. (2011), "A database and evaluation methodology for optical flow":
// 55 colours from red over yellow, green, cyan, blue and magenta -> uint8 [55, 3]
Tensor colour_wheel();

// The length of the longest known vector, in pixels; 0 when there is none.
double largest_flow(const FlowField& field);

// The direction as hue and the length as saturation: white does not move, `max_flow` pixels are
// saturated, more is darkened, unknown is black -> uint8 [3, H, W]
Tensor flow_colours(const FlowField& field, double max_flow);

// A picture uint8 [3, H, W] with the wheel in its lower right corner: the colour of each direction.
// Beside it the pixels of motion at its rim, where they are given and there is room.
Tensor with_legend(const Tensor& picture, std::optional<double> at_rim = {});

// Arrows over a frame uint8 [3, H, W], from pixels of a grid to where they move, in the wheel's
// colours; none where the flow is unknown.
Tensor flow_arrows(const Tensor& frame, const FlowField& field);

}  // namespace perceiver
