// The largest picture that is read, whatever its format.
#pragma once

#include <cstdint>
#include <string>

#include "perceiver/core/error.h"

namespace perceiver {

// 16384 x 16384. A file that claims more is broken, or would take gigabytes.
constexpr int64_t kMaxPixels = int64_t{1} << 28;

inline void check_picture_size(const std::string& name, int64_t height, int64_t width) {
  if (height < 1 || width < 1) fail("{}: picture of {} x {} pixels", name, width, height);
  if (height > kMaxPixels / width) {
    fail("{}: picture of {} x {} pixels, more than the {} that are read", name, width, height,
         kMaxPixels);
  }
}

}  // namespace perceiver
