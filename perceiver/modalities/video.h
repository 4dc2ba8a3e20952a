// Video to elements of an array, and back (paper, Sec. 4.3 and App. C): space-to-depth patches.
#pragma once

#include <vector>

#include "perceiver/core/config.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// How many frames, rows and columns make one element: 1x4x4 in Sec. 4.3, 2x8x8 in App. C.
struct VideoPatch {
  int64_t frames = 1, height = 4, width = 4;

  int64_t pixels() const { return frames * height * width; }
};

template <typename Visitor>
void fields(Visitor& visit, VideoPatch& c) {
  visit({"frames", "Frames of a patch"}, c.frames, at_least(1));
  visit({"height", "Rows of a patch, in pixels"}, c.height, at_least(1));
  visit({"width", "Columns of a patch, in pixels"}, c.width, at_least(1));
}

// {T, H, W} of a video -> {T', H', W'} of its patches; fails unless they fill it.
std::vector<int64_t> patch_grid(at::IntArrayRef video, const VideoPatch& patch);

// [B, T, C, H, W] -> [B, T'*H'*W', patch pixels * C]. Channels are in the released weights' order:
// frame, row, column, colour.
Tensor video_to_patches(const Tensor& video, const VideoPatch& patch);

// The reverse, for a video of {T, H, W}.
Tensor patches_to_video(const Tensor& patches, at::IntArrayRef video, const VideoPatch& patch);

}  // namespace perceiver
