#include "perceiver/tasks/optical_flow/star_shape.h"

#include <algorithm>
#include <vector>

namespace perceiver {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr int kEntries = StarShape::kEntries, kBumps = 6;

// An entry of the table, as StarShape::outline() counts them.
struct Direction {
  double angle;
  double cos[kBumps + 1], sin[kBumps + 1];  // of multiples of the angle
};

Direction direction_of(double turn) {
  const double along = turn <= 2.0 ? turn - 1.0 : 3.0 - turn;
  const double across = (turn <= 2.0 ? 1.0 : -1.0) * (1.0 - std::fabs(along));
  Direction direction;
  direction.angle = std::atan2(along, across);
  for (int i = 0; i <= kBumps; ++i) {
    direction.cos[i] = std::cos(i * direction.angle);
    direction.sin[i] = std::sin(i * direction.angle);
  }
  return direction;
}

const std::array<Direction, kEntries>& directions() {
  static const auto all = [] {
    std::array<Direction, kEntries> made;
    for (int d = 0; d < kEntries; ++d) made[d] = direction_of(4.0 * d / StarShape::kDirections);
    return made;
  }();
  return all;
}

// The same angle in [0, a turn).
double positive_turn(double angle) { return angle - kTurn * std::floor(angle / kTurn); }

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
  double radius[kEntries];
  std::ranges::fill(radius, 1.0);
  const std::array<Direction, kEntries>& ways = directions();
  for (int bump = 1; bump <= kBumps; ++bump) {
    const double height = 0.25 * rng.normal() / bump, phase = rng.uniform(0.0, kTurn);
    const double cos = height * std::cos(phase), sin = height * std::sin(phase);
    for (int d = 0; d < kEntries; ++d) {
      radius[d] += ways[d].cos[bump] * cos - ways[d].sin[bump] * sin;
    }
  }
  for (int d = 0; d < kEntries; ++d) outline_[d] = static_cast<float>(std::max(radius[d], 0.2));
}

void StarShape::fill_polygon(Rng& rng) {
  struct Corner {
    double angle, x, y;
  };
  const int64_t corners = 3 + rng.integer(7);
  std::vector<Corner> polygon(corners);
  const double start = rng.uniform(0.0, kTurn);
  for (int64_t i = 0; i < corners; ++i) {  // at most half a turn apart, or the middle is outside
    const double angle =
        start + (static_cast<double>(i) + rng.uniform(-0.3, 0.3)) * kTurn / corners;
    const double radius = rng.uniform(0.6, 1.4);
    polygon[i] = {angle, radius * std::cos(angle), radius * std::sin(angle)};
  }
  constexpr double kNothing = 1e-9;  // a ray through a corner meets both of its sides
  const std::array<Direction, kEntries>& ways = directions();
  for (int64_t i = 0; i < corners; ++i) {
    const Corner &a = polygon[i], &b = polygon[(i + 1) % corners];
    const double width = positive_turn(b.angle - a.angle);
    for (int d = 0; d < kEntries; ++d) {
      if (positive_turn(ways[d].angle - a.angle) > width + kNothing) continue;
      // Where the ray meets the side between two corners.
      const double x = ways[d].cos[1], y = ways[d].sin[1];
      const double least = (a.x * b.y - a.y * b.x) / (x * (b.y - a.y) - y * (b.x - a.x));
      outline_[d] = static_cast<float>(std::clamp(least, 0.1, 2.0));
    }
  }
}

}  // namespace perceiver
