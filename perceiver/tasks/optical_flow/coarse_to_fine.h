// Flow found coarse to fine, as classical methods do: of smaller frames first, in which a long
// motion is short; then the second frame is warped by what is known, and the rest found at the next
// size. What is found there without any help is often the better for short motions, so that each
// pixel has the one of the two under which the frames agree better around it. The paper has none of
// this: its tiles are as large as its motions are long, a small model's are not.
#pragma once

#include <functional>
#include <vector>

#include "perceiver/media/resize.h"
#include "perceiver/tasks/optical_flow/tiling.h"

namespace perceiver {

// Sizes that flow of frames is found at, the smallest first, each half of the next: `levels` of
// them, or fewer where a side of the smallest would be below 16 pixels.
std::vector<ImageSize> sizes_of_levels(ImageSize frames, int64_t levels);

// flow [2, H, W] of frames of one size -> [2, h, w] of the same motion at another, in its pixels
Tensor resized_flow(const Tensor& flow, ImageSize size);

// pixels uint8 [3, H, W] where flow [2, H, W] leads to; beyond an edge what is at the edge
Tensor warped(const Tensor& pixels, const Tensor& flow);

// How much first [3, H, W] and what flow [2, H, W] makes of second differ, a mean over the pixels
// around each -> float [H, W], in grey levels
Tensor disagreement(const Tensor& first, const Tensor& second, const Tensor& flow);

// frames uint8 [2, 3, H, W] -> flow [2, H, W] in pixels
using FindFlow = std::function<Tensor(const Tensor& frames)>;

// The same by what finds it at a single size, at several.
Tensor coarse_to_fine(const Tensor& frames, int64_t levels, const FindFlow& find);

// By a model, in tiles. One level is tiled_flow().
Tensor coarse_to_fine(OpticalFlowImpl& model, const Tensor& frames, const Tiling& tiling,
                      int64_t levels);

}  // namespace perceiver
