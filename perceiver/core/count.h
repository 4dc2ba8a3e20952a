// How large the numbers of a config may be.
#pragma once

#include <cstdint>
#include <string_view>

#include "perceiver/core/error.h"

namespace perceiver {

// The most of anything that a config counts: channels, elements, classes, steps. Far above every
// model there is, and low enough that what is made of a few of them can still be counted.
constexpr int64_t kLargestCount = int64_t{1} << 24;

// The most layers, and the most times that layers are applied.
constexpr int64_t kMostLayers = 1024;

// The most pixels that a model takes.
constexpr int64_t kMostPixels = int64_t{1} << 31;

// `keys` are those that say how large a picture or a clip is.
inline void check_pixels(std::string_view keys, int64_t frames, int64_t height, int64_t width) {
  if (frames <= kMostPixels / height / width) return;
  fail("{}: {} x {} x {} pixels, expected at most {}", keys, frames, height, width, kMostPixels);
}

// The most parameters of a model: 4 TiB of weights.
constexpr int64_t kMostParameters = int64_t{1} << 40;

}  // namespace perceiver
