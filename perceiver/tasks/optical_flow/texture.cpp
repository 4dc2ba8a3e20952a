#include "perceiver/tasks/optical_flow/texture.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace perceiver {
namespace {

using Texel = TextureLevel::Texel;
constexpr int64_t kSmallest = 8;  // pixels a side that are not halved any more

Texel channel(Texel texel, int c) { return texel >> (8 * c) & 255; }

std::vector<Texel> premultiplied(const Tensor& pixels) {
  const Tensor planes = pixels.contiguous();
  const int64_t count = pixels.size(1) * pixels.size(2);
  const auto* from = planes.data_ptr<uint8_t>();
  std::vector<Texel> to(count);
  for (int64_t i = 0; i < count; ++i) {
    const Texel opacity = from[3 * count + i];
    to[i] = opacity << 24;
    for (int c = 0; c < 3; ++c) to[i] |= (from[c * count + i] * opacity + 127) / 255 << (8 * c);
  }
  return to;
}

int32_t mirrored(int32_t i, int32_t size) {
  const int32_t period = 2 * size, place = ((i % period) + period) % period;
  return place < size ? place : period - 1 - place;
}

float value(Texel texel, int c) {
  return static_cast<float>(static_cast<int32_t>(channel(texel, c)));  // signed ones convert faster
}

int32_t floor_of(float x) {
  const auto towards_zero = static_cast<int32_t>(x);
  return towards_zero - (static_cast<float>(towards_zero) > x ? 1 : 0);
}

// Opacity is the fourth channel.
template <int kChannels>
void interpolate(const Texel* texels, TextureBlock& block) {
  for (int64_t i = 0; i < block.count; ++i) {
    const Texel t00 = texels[block.corners[0][i]], t01 = texels[block.corners[1][i]];
    const Texel t10 = texels[block.corners[2][i]], t11 = texels[block.corners[3][i]];
    const float right = block.right_share[i], low = block.low_share[i];
    const auto between = [=](int c) {
      const float above = value(t00, c) + right * (value(t01, c) - value(t00, c));
      const float below = value(t10, c) + right * (value(t11, c) - value(t10, c));
      return above + low * (below - above);
    };
    block.colours[0][i] = between(0), block.colours[1][i] = between(1);
    block.colours[2][i] = between(2);
    if constexpr (kChannels == 4) block.colours[3][i] = between(3);
  }
}

}  // namespace

TextureLevel::TextureLevel(int64_t height, int64_t width, std::vector<Texel> texels, Beyond beyond)
    : height_(static_cast<int32_t>(height)),
      width_(static_cast<int32_t>(width)),
      beyond_(beyond),
      texels_(std::move(texels)) {
  opaque_ = beyond == Beyond::kMirrored &&
            std::ranges::all_of(texels_, [](Texel t) { return channel(t, 3) == 255; });
  texels_.push_back(0);
}

int32_t TextureLevel::beyond_at(int32_t x, int32_t y) const {
  if (beyond_ == Beyond::kMirrored) {
    x = mirrored(x, width_), y = mirrored(y, height_);
  } else if (x < 0 || y < 0 || x >= width_ || y >= height_) {
    return height_ * width_;
  }
  return y * width_ + x;
}

void TextureLevel::read(TextureBlock& block) const {
  const int32_t height = height_, width = width_;
  int32_t outside = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const int32_t left = floor_of(block.x[i]), top = floor_of(block.y[i]);
    block.right_share[i] = block.x[i] - static_cast<float>(left);
    block.low_share[i] = block.y[i] - static_cast<float>(top);
    outside |= left | top | (width - 2 - left) | (height - 2 - top);  // negative if one of them is
    const int32_t first = top * width + left;
    block.corners[0][i] = first, block.corners[1][i] = first + 1;
    block.corners[2][i] = first + width, block.corners[3][i] = first + width + 1;
  }
  if (outside < 0) read_beyond(block);
  if (opaque_) {
    interpolate<3>(texels_.data(), block);
    std::ranges::fill(block.colours[3], 255.0f);
  } else {
    interpolate<4>(texels_.data(), block);
  }
}

void TextureLevel::read_beyond(TextureBlock& block) const {
  for (int64_t i = 0; i < block.count; ++i) {
    const int32_t left = floor_of(block.x[i]), top = floor_of(block.y[i]);
    block.corners[0][i] = beyond_at(left, top), block.corners[1][i] = beyond_at(left + 1, top);
    block.corners[2][i] = beyond_at(left, top + 1);
    block.corners[3][i] = beyond_at(left + 1, top + 1);
  }
}

TextureLevel TextureLevel::half() const {
  const int32_t height = height_ / 2, width = width_ / 2;
  std::vector<Texel> texels(static_cast<size_t>(height) * width);
  for (int32_t y = 0; y < height; ++y) {
    const Texel* above = texels_.data() + 2 * static_cast<int64_t>(y) * width_;
    const Texel* below = above + width_;
    for (int32_t x = 0; x < width; ++x) {
      Texel mean = 0;
      for (int c = 0; c < 4; ++c) {
        const Texel sum = channel(above[2 * x], c) + channel(above[2 * x + 1], c) +
                          channel(below[2 * x], c) + channel(below[2 * x + 1], c);
        mean |= (sum + 2) / 4 << (8 * c);
      }
      texels[static_cast<int64_t>(y) * width + x] = mean;
    }
  }
  return {height, width, std::move(texels), beyond_};
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
