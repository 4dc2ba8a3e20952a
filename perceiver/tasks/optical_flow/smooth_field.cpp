#include "perceiver/tasks/optical_flow/smooth_field.h"

#include <cmath>

namespace perceiver {

SmoothField::Weights SmoothField::weights_at(int64_t pixel, double cell) {
  const double place = static_cast<double>(pixel) / cell;
  const double first = std::floor(place), t = place - first;
  const double s = 1.0 - t;
  // The uniform cubic B-spline.
  return {static_cast<int64_t>(first),
          {static_cast<float>(s * s * s / 6.0),
           static_cast<float>((3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0),
           static_cast<float>((3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0),
           static_cast<float>(t * t * t / 6.0)}};
}

SmoothField::SmoothField(int64_t height, int64_t width, double cell, double scale, Rng& rng)
    : cell_(cell), columns_(static_cast<int64_t>(static_cast<double>(width) / cell) + 4) {
  const auto rows = static_cast<int64_t>(static_cast<double>(height) / cell) + 4;
  values_.resize(rows * columns_);
  for (float& value : values_) value = static_cast<float>(scale * rng.normal());
  for (int64_t x = 0; x < width; ++x) across_.push_back(weights_at(x, cell));
}

void SmoothField::row(int64_t y, std::span<float> row) const {
  const Weights down = weights_at(y, cell_);
  std::vector<float> coarse(columns_);
  for (int64_t i = 0; i < 4; ++i) {
    const float* values = values_.data() + (down.first + i) * columns_;
    for (int64_t x = 0; x < columns_; ++x) coarse[x] += down.weights[i] * values[x];
  }
  for (size_t x = 0; x < row.size(); ++x) {
    const Weights& w = across_[x];
    const float* c = coarse.data() + w.first;
    row[x] = w.weights[0] * c[0] + w.weights[1] * c[1] + w.weights[2] * c[2] + w.weights[3] * c[3];
  }
}

}  // namespace perceiver
