// What users write to pick parts of something: numbers and ranges, pixels, boxes, seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// "3,5-7" of things counted from 1 -> {2, 4, 5, 6}. `option` and `things` are for messages.
std::vector<int64_t> parse_numbers(const std::string& text, int64_t count,
                                   const std::string& option, const std::string& things);

// Pixels [x0, x1) x [y0, y1) of a frame.
struct Box {
  int64_t x0, y0, x1, y1;

  int64_t width() const { return x1 - x0; }
  int64_t height() const { return y1 - y0; }
  Tensor pixels(int64_t frame_width) const;  // by flat index, row by row -> [P]
};

struct FrameSize {
  int64_t height, width;
};

// "x0,y0,x1,y1"; empty: the whole frame.
Box parse_box(const std::string& text, FrameSize frame);

struct Pixel {
  int64_t x, y;
};

std::vector<Pixel> parse_pixels(const std::vector<std::string>& texts, FrameSize frame);
Tensor flat_indices(const std::vector<Pixel>& pixels, FrameSize frame);  // -> [P]

// "0.1-0.4" of a clip that lasts so long.
struct Seconds {
  double begin, end;
};
Seconds parse_seconds(const std::string& text, double most);

}  // namespace perceiver
