// The parts of a clip that are classified in its place (paper, App. C): at test time, the average
// of 16 overlapping clips of 32 frames.
#pragma once

#include <functional>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/tasks/audioset/model.h"

namespace perceiver {

inline constexpr int64_t kFramesPerSecond = 25;

struct ClipViews {
  Tensor video;    // uint8 [views, T, 3, H, W]; undefined where the model sees none
  Tensor samples;  // float [views, S], in [-1, 1]
};

// Where views of `view_frames` begin in a clip: evenly spaced from its beginning to its end, at
// most 16. As many as are a quarter of a view apart, but two of any clip that is longer than one.
std::vector<int64_t> view_starts(int64_t num_frames, int64_t view_frames);

// The part of a file, in seconds, that is meant; to: 0 is its end.
struct ClipPart {
  double from = 0.0, to = 0.0;
};

// Where views begin in a part of so many frames: view_starts(), or any that was drawn.
using ViewStarts = std::function<std::vector<int64_t>(int64_t num_frames, int64_t view_frames)>;

// A clip with sound, or a sound, which gets black frames where the model sees any. What is shorter
// than a view is filled up with its last frame, in silence.
ClipViews read_views(const File& file, const AudioSetConfig& config, const ClipPart& part = {},
                     const ViewStarts& starts = view_starts);

}  // namespace perceiver
