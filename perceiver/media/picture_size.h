// The largest picture that is read, whatever its format.
#pragma once

#include <cstdint>
#include <string>

#include "perceiver/media/reading_limits.h"

namespace perceiver {

inline void check_picture_size(const std::string& name, int64_t height, int64_t width) {
  if (height < 1 || width < 1) fail("{}: picture of {} x {} pixels", name, width, height);
  const int64_t most = most_pixels_read;
  if (height > most / width) {
    fail("{}: picture of {} x {} pixels, more than the {} that are read", name, width, height,
         most);
  }
}

}  // namespace perceiver
