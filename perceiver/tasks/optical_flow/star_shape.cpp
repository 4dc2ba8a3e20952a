#include "perceiver/tasks/optical_flow/star_shape.h"

#include <algorithm>
#include <vector>

namespace perceiver {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

// The direction of an entry of the table, as StarShape::outline() counts them.
double angle_of(double turn) {
  const double along = turn <= 2.0 ? turn - 1.0 : 3.0 - turn;
  const double across = (turn <= 2.0 ? 1.0 : -1.0) * (1.0 - std::fabs(along));
  return std::atan2(along, across);
}

}  // namespace

StarShape::StarShape(const Place& place, double longest, Rng& rng)
    : x_(static_cast<float>(place.x)),
      y_(static_cast<float>(place.y)),
      edge_(static_cast<float>(place.edge)) {
  if (rng.chance(0.5)) {
    fill_blob(rng);
  } else {
    fill_polygon(rng);
  }
  const double stretch = std::sqrt(std::pow(longest, rng.uniform()));
  const double angle = rng.uniform(0.0, kTurn);
  const double a = 1.0 / (place.radius * stretch), b = stretch / place.radius;
  xx_ = static_cast<float>(a * std::cos(angle)), xy_ = static_cast<float>(a * std::sin(angle));
  yx_ = static_cast<float>(-b * std::sin(angle)), yy_ = static_cast<float>(b * std::cos(angle));
  const auto [nearest, furthest] = std::minmax_element(outline_.begin(), outline_.end());
  core_ = std::max(*nearest - edge_ * static_cast<float>(std::max(a, b)), 1e-6f);
  reach_ = *furthest * static_cast<float>(place.radius * stretch) + edge_;
}

void StarShape::fill_blob(Rng& rng) {
  constexpr int kBumps = 6;
  double height[kBumps], phase[kBumps];
  for (int i = 0; i < kBumps; ++i) {
    height[i] = 0.25 * rng.normal() / (i + 1);
    phase[i] = rng.uniform(0.0, kTurn);
  }
  for (size_t d = 0; d < outline_.size(); ++d) {
    const double angle = angle_of(4.0 * static_cast<double>(d) / kDirections);
    double radius = 1.0;
    for (int i = 0; i < kBumps; ++i) radius += height[i] * std::cos((i + 1) * angle + phase[i]);
    outline_[d] = static_cast<float>(std::max(radius, 0.2));
  }
}

void StarShape::fill_polygon(Rng& rng) {
  const int64_t corners = 3 + rng.integer(7);
  std::vector<double> angles(corners), radii(corners);
  const double start = rng.uniform(0.0, kTurn);
  for (int64_t i = 0; i < corners; ++i) {  // at most half a turn apart, or the middle is outside
    angles[i] = start + (static_cast<double>(i) + rng.uniform(-0.3, 0.3)) * kTurn / corners;
    radii[i] = rng.uniform(0.6, 1.4);
  }
  for (size_t d = 0; d < outline_.size(); ++d) {
    const double angle = angle_of(4.0 * static_cast<double>(d) / kDirections);
    double least = 2.0;
    for (int64_t i = 0; i < corners; ++i) {
      const int64_t j = (i + 1) % corners;
      const double span = std::remainder(angles[j] - angles[i], kTurn);
      const double width = span < 0.0 ? span + kTurn : span;
      double into = std::fmod(angle - angles[i], kTurn);
      if (into < 0.0) into += kTurn;
      if (into > width) continue;
      // Where the ray meets the side between two corners.
      least = radii[i] * radii[j] * std::sin(width) /
              (radii[i] * std::sin(into) + radii[j] * std::sin(width - into));
    }
    outline_[d] = static_cast<float>(std::clamp(least, 0.1, 2.0));
  }
}

}  // namespace perceiver
