// Random fields without edges: a coarse grid of random values with a cubic B-spline through the
// frame. They deform layers, make noise of every scale, and are fog.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "perceiver/core/rng.h"

namespace perceiver {

class SmoothField {
 public:
  // Standard normal values (times `scale`) about `cell` pixels apart, for height x width pixels.
  SmoothField(int64_t height, int64_t width, double cell, double scale, Rng& rng);

  // Values of the pixels (x, y), (x + 1, y) and on -> row
  void row(int64_t x, int64_t y, std::span<float> row) const;

 private:
  // How much each of four grid values counts at a pixel.
  struct Weights {
    int64_t first;
    float weights[4];
  };
  static Weights weights_at(int64_t pixel, double cell);

  double cell_;
  int64_t columns_;
  std::vector<float> values_;                 // [rows, columns]
  std::array<std::vector<float>, 4> across_;  // the weights of each x
  std::vector<int64_t> begins_;               // the first x between two columns, and the width
};

}  // namespace perceiver
