#include "perceiver/tasks/optical_flow/procedural.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <vector>

#include "perceiver/tasks/optical_flow/smooth_field.h"
#include "perceiver/tasks/optical_flow/star_shape.h"

namespace perceiver {
namespace {

using Plane = std::vector<float>;  // [size, size]
using Rgb = std::array<float, 3>;  // in [0, 1]
constexpr double kTurn = 2.0 * std::numbers::pi;

Rgb random_colour(Rng& rng) {
  // Real things are more grey than random ones.
  const double light = rng.uniform(), vivid = 0.5 * rng.uniform() * rng.uniform();
  Rgb colour;
  for (float& c : colour)
    c = static_cast<float>(std::clamp(light + vivid * rng.normal(), 0.0, 1.0));
  return colour;
}

// Smooth fields added up, each twice as fine as the last and `fading` times as strong; in [0, 1]
// for the most part.
Plane noise(int64_t size, Rng& rng) {
  Plane sum(size * size), row(size);
  const double fading = rng.uniform(0.45, 0.95), coarsest = rng.uniform(0.08, 0.5);
  double strength = 1.0, squares = 0.0;
  for (double cell = coarsest * static_cast<double>(size); cell >= 1.5; cell /= 2.0) {
    const SmoothField field(size, size, cell, strength, rng);
    for (int64_t y = 0; y < size; ++y) {
      field.row(0, y, row);
      for (int64_t x = 0; x < size; ++x) sum[y * size + x] += row[x];
    }
    squares += 0.2 * strength * strength;  // of a B-spline through normal values, about
    strength *= fading;
  }
  const auto scale = static_cast<float>(0.25 / std::sqrt(squares));
  for (float& value : sum) value = 0.5f + scale * value;
  return sum;
}

// Stripes or checks of any width and direction, with soft or hard edges, bent by noise.
Plane waves(int64_t size, Rng& rng) {
  const Plane bend = noise(size, rng);
  const bool checks = rng.chance(0.5);
  const double period =
      std::exp(rng.uniform(std::log(4.0), std::log(0.3 * static_cast<double>(size))));
  const double angle = rng.uniform(0.0, kTurn), hardness = std::exp(rng.uniform(-1.0, 2.0));
  const double bending = rng.uniform() * rng.uniform() * 3.0;
  const double fx = kTurn * std::cos(angle) / period, fy = kTurn * std::sin(angle) / period;
  Plane plane(size * size);
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const double bent = bending * (bend[y * size + x] - 0.5f) * kTurn;
      double wave = std::sin(fx * static_cast<double>(x) + fy * static_cast<double>(y) + bent);
      if (checks)
        wave *= std::sin(fy * static_cast<double>(x) - fx * static_cast<double>(y) + bent);
      plane[y * size + x] = static_cast<float>(0.5 + 0.5 * std::tanh(hardness * wave));
    }
  }
  return plane;
}

// Values as a path through a few colours.
std::vector<Rgb> coloured(const Plane& plane, Rng& rng) {
  std::vector<Rgb> palette(2 + rng.integer(4)), pixels(plane.size());
  for (Rgb& colour : palette) colour = random_colour(rng);
  const auto last = static_cast<float>(palette.size() - 1);
  for (size_t i = 0; i < plane.size(); ++i) {
    const float place = std::clamp(plane[i], 0.0f, 1.0f) * last;
    const auto from = static_cast<size_t>(std::min(place, last - 1.0f));
    const float share = place - static_cast<float>(from);
    for (int c = 0; c < 3; ++c) {
      pixels[i][c] = palette[from][c] + share * (palette[from + 1][c] - palette[from][c]);
    }
  }
  return pixels;
}

// Shapes of all sizes over each other ("dead leaves"): their edges have the statistics of
// photographs'. Each has its own colour, and shades of what was there.
void strew(std::vector<Rgb>& pixels, int64_t size, Rng& rng) {
  const auto side = static_cast<double>(size);
  const int64_t shapes = 50 + rng.integer(600);
  const double smallest = rng.uniform(1.5, 6.0);
  for (int64_t i = 0; i < shapes; ++i) {
    // Radii with a density of 1 / r^3: each scale covers the same area.
    const double radius = std::min(smallest / std::sqrt(1.0 - rng.uniform()), 0.3 * side);
    const StarShape shape({rng.uniform(0.0, side), rng.uniform(0.0, side), radius}, 3.0, rng);
    const Rgb colour = random_colour(rng);
    const auto shade = static_cast<float>(rng.uniform() * rng.uniform());
    const double x = shape.x(), y = shape.y(), reach = shape.reach();
    const auto low = [&](double v) { return static_cast<int64_t>(std::max(v - reach, 0.0)); };
    const auto high = [&](double v) {
      return static_cast<int64_t>(std::min(v + reach + 1.0, side));
    };
    for (int64_t row = low(y); row < high(y); ++row) {
      for (int64_t column = low(x); column < high(x); ++column) {
        const float opacity = shape.opacity(static_cast<float>(column), static_cast<float>(row));
        Rgb& pixel = pixels[row * size + column];
        for (int c = 0; c < 3; ++c) {
          const float own = colour[c] + shade * (pixel[c] - 0.5f);
          pixel[c] += opacity * (own - pixel[c]);
        }
      }
    }
  }
}

}  // namespace

Tensor procedural_texture(int64_t size, Rng& rng) {
  std::vector<Rgb> pixels = coloured(rng.chance(0.7) ? noise(size, rng) : waves(size, rng), rng);
  if (rng.chance(0.6)) strew(pixels, size, rng);
  // A fine grain over it, or nothing can be followed inside of even shapes.
  const Plane grain = noise(size, rng);
  const auto strength = static_cast<float>(rng.uniform(0.1, 0.6));
  Tensor texture = at::full({4, size, size}, 255, at::kByte);
  auto* to = texture.data_ptr<uint8_t>();
  const int64_t plane = size * size;
  for (int64_t i = 0; i < plane; ++i) {
    for (int c = 0; c < 3; ++c) {
      const float value = pixels[i][c] + strength * (grain[i] - 0.5f);
      to[c * plane + i] = static_cast<uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
    }
  }
  return texture;
}

}  // namespace perceiver
