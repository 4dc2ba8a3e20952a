#include "perceiver/tasks/optical_flow/texture.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace perceiver {
namespace {

constexpr int64_t kSmallest = 8;  // pixels a side that are not halved any more

std::vector<uint8_t> premultiplied(const Tensor& pixels) {
  const Tensor packed = pixels.permute({1, 2, 0}).contiguous();
  const auto* from = packed.data_ptr<uint8_t>();
  std::vector<uint8_t> to(from, from + packed.numel());
  for (size_t i = 0; i < to.size(); i += 4) {
    for (size_t c = 0; c < 3; ++c)
      to[i + c] = static_cast<uint8_t>((to[i + c] * to[i + 3] + 127) / 255);
  }
  return to;
}

int mirrored(int i, int size) {
  const int period = 2 * size, place = ((i % period) + period) % period;
  return place < size ? place : period - 1 - place;
}

}  // namespace

TextureLevel::TextureLevel(int64_t height, int64_t width, std::vector<uint8_t> pixels,
                           Beyond beyond)
    : height_(static_cast<int>(height)),
      width_(static_cast<int>(width)),
      beyond_(beyond),
      pixels_(std::move(pixels)) {}

const uint8_t* TextureLevel::beyond_at(int x, int y) const {
  static constexpr uint8_t kNothing[4] = {};
  if (beyond_ == Beyond::kMirrored) {
    x = mirrored(x, width_), y = mirrored(y, height_);
  } else if (x < 0 || y < 0 || x >= width_ || y >= height_) {
    return kNothing;
  }
  return pixels_.data() + 4 * (static_cast<int64_t>(y) * width_ + x);
}

TextureLevel TextureLevel::half() const {
  const int height = height_ / 2, width = width_ / 2;
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * 4);
  for (int y = 0; y < height; ++y) {
    const uint8_t* above = pixels_.data() + 8 * static_cast<int64_t>(y) * width_;
    const uint8_t* below = above + 4 * width_;
    uint8_t* to = pixels.data() + 4 * static_cast<int64_t>(y) * width;
    for (int x = 0; x < width; ++x, above += 8, below += 8, to += 4) {
      for (int c = 0; c < 4; ++c) {
        to[c] = static_cast<uint8_t>((above[c] + above[c + 4] + below[c] + below[c + 4] + 2) / 4);
      }
    }
  }
  return {height, width, std::move(pixels), beyond_};
}

Texture::Texture(const Tensor& pixels, TextureLevel::Beyond beyond) {
  levels_.emplace_back(pixels.size(1), pixels.size(2), premultiplied(pixels), beyond);
  while (std::min(levels_.back().height(), levels_.back().width()) >= 2 * kSmallest) {
    levels_.push_back(levels_.back().half());
  }
}

int Texture::level_for(double texels) const {
  const int wanted = static_cast<int>(std::floor(std::log2(std::max(texels, 1.0)) - 0.25));
  return std::clamp(wanted, 0, static_cast<int>(levels_.size()) - 1);
}

}  // namespace perceiver
