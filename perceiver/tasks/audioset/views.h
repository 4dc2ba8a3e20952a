// The parts of a clip that are classified in its place (paper, App. C): at test time, the average
// of 16 overlapping clips of 32 frames.
#pragma once

#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/tasks/audioset/model.h"

namespace perceiver {

struct ClipViews {
  Tensor video;    // uint8 [views, T, 3, H, W]
  Tensor samples;  // float [views, S], in [-1, 1]
};

// Where views of `view_frames` begin in a clip: evenly spaced from its beginning to its end, at
// most 16. As many as are a quarter of a view apart, but two of any clip that is longer than one.
std::vector<int64_t> view_starts(int64_t num_frames, int64_t view_frames);

// A clip with sound, or a sound, which gets black frames. What is shorter than a view is filled up
// with its last frame, in silence.
ClipViews read_views(const File& file, const AudioSetConfig& config);

}  // namespace perceiver
