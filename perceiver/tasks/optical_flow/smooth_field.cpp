#include "perceiver/tasks/optical_flow/smooth_field.h"

#include <algorithm>
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
  for (auto& weights : across_) weights.resize(width);
  for (int64_t x = 0; x < width; ++x) {
    const Weights w = weights_at(x, cell);
    for (int i = 0; i < 4; ++i) across_[i][x] = w.weights[i];
    while (static_cast<int64_t>(begins_.size()) <= w.first) begins_.push_back(x);
  }
  begins_.push_back(width);
}

void SmoothField::row(int64_t begin, int64_t y, std::span<float> row) const {
  const Weights down = weights_at(y, cell_);
  const float *w0 = across_[0].data(), *w1 = across_[1].data();
  const float *w2 = across_[2].data(), *w3 = across_[3].data();
  const int64_t end = begin + static_cast<int64_t>(row.size());
  float* to = row.data();
  const float* values = values_.data() + down.first * columns_;
  const auto coarse = [&](int64_t column) {
    float sum = 0.0f;
    for (int64_t i = 0; i < 4; ++i) sum += down.weights[i] * values[i * columns_ + column];
    return sum;
  };
  const auto cells = static_cast<int64_t>(begins_.size()) - 1;
  auto cell = static_cast<int64_t>(static_cast<double>(begin) / cell_);
  float c0 = 0.0f, c1 = coarse(cell), c2 = coarse(cell + 1), c3 = coarse(cell + 2);
  for (; cell < cells && begins_[cell] < end; ++cell) {
    c0 = c1, c1 = c2, c2 = c3, c3 = coarse(cell + 3);
    const int64_t last = std::min(begins_[cell + 1], end);
    for (int64_t x = std::max(begins_[cell], begin); x < last; ++x) {
      to[x - begin] = w0[x] * c0 + w1[x] * c1 + w2[x] * c2 + w3[x] * c3;
    }
  }
}

}  // namespace perceiver
