// Outlines of things: blobs and polygons that are seen whole from their middle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "perceiver/core/rng.h"

namespace perceiver {

class StarShape {
 public:
  static constexpr int kDirections = 256, kEntries = kDirections + 2;  // of the table of outlines

  struct Place {
    double x, y;        // middle, in pixels
    double radius;      // about its mean, in pixels
    double edge = 1.0;  // pixels from outside to inside
  };
  // Round with bumps, or a polygon of 3 to 9 corners; up to `longest` times as long as wide.
  StarShape(const Place& place, double longest, Rng& rng);

  double x() const { return x_; }
  double y() const { return y_; }
  double reach() const { return reach_; }  // no pixel further from the middle belongs to it

  // How much of a pixel is inside, in [0, 1]. Without branches: rows of pixels are vectorised.
  float opacity(float x, float y) const {
    const float dx = x - x_, dy = y - y_, pixels = dx * dx + dy * dy;
    const float u = xx_ * dx + xy_ * dy, v = yx_ * dx + yy_ * dy, square = u * u + v * v;
    const float inside = (outline(u, v) / std::sqrt(square) - 1.0f) * std::sqrt(pixels);
    const float edge = std::min(std::max(0.5f + inside / edge_, 0.0f), 1.0f);
    const float near = square <= core_ * core_ ? 1.0f : edge;
    return pixels > reach_ * reach_ ? 0.0f : near;
  }

 private:
  // A quarter of the table a quadrant: (|x|, |y|) on the diamond |x| + |y| = 1 grows with the angle
  // and takes no arctangent.
  float outline(float u, float v) const {
    const float along = v / std::max(std::fabs(u) + std::fabs(v), 1e-30f);
    const float turn = u >= 0.0f ? along + 1.0f : 3.0f - along;  // in [0, 4]
    const float place = turn * (kDirections / 4);
    const int i = static_cast<int>(place);
    const float share = place - static_cast<float>(i);
    return outline_[i] + share * (outline_[i + 1] - outline_[i]);
  }

  void fill_blob(Rng& rng);
  void fill_polygon(Rng& rng);

  float x_, y_, edge_, reach_;
  float core_;               // so near to the middle of the plane below everything is inside
  float xx_, xy_, yx_, yy_;  // pixels to a plane where the mean radius is 1
  std::array<float, kEntries> outline_;  // distance from the middle, by direction
};

}  // namespace perceiver
