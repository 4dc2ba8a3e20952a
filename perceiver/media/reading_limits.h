// How much of a file is read at most. A program that reads strangers' files, such as a server,
// lowers it for all of its threads before it begins.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "perceiver/core/error.h"

namespace perceiver {

// Of a picture or a frame: 16384 x 16384. A file that claims more is broken, or would take
// gigabytes.
constexpr int64_t kMaxPixels = int64_t{1} << 28;
inline std::atomic<int64_t> most_pixels_read = kMaxPixels;

// Of a clip or a sound, a few bytes of which may stand for hours.
constexpr double kMostSeconds = 1e9;
inline std::atomic<double> most_seconds_read = kMostSeconds;

inline void check_length_read(const std::string& name, double seconds) {
  if (seconds <= most_seconds_read) return;
  fail("{}: lasts longer than the {:g} seconds that are read", name, most_seconds_read.load());
}

}  // namespace perceiver
