// Random fields without edges: a coarse grid of random values with a cubic B-spline through the
// frame. They deform layers, make noise of every scale, and are fog.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "perceiver/core/rng.h"

namespace perceiver {

class SmoothField {
 public:
  // Standard normal values (times `scale`) about `cell` pixels apart, for height x width pixels.
  SmoothField(int64_t height, int64_t width, double cell, double scale, Rng& rng);

  // Values of one row of pixels -> row [W]
  void row(int64_t y, std::span<float> row) const;

 private:
  // How much each of four grid values counts at a pixel.
  struct Weights {
    int64_t first;
    float weights[4];
  };
  static Weights weights_at(int64_t pixel, double cell);

  double cell_;
  int64_t columns_;
  std::vector<float> values_;    // [rows, columns]
  std::vector<Weights> across_;  // of each x
};

}  // namespace perceiver
