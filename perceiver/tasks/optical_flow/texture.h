// Pictures that the layers of generated pairs are cut from, ready to be looked up at any place and
// scale.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Red, green, blue and opacity in [0, 255], the colours already multiplied by the opacity.
using Colour = std::array<float, 4>;

// A picture at some size, between whose pixels values are interpolated.
class TextureLevel {
 public:
  // What lies beyond the edges: a cut-out ends there, any other picture is mirrored.
  enum class Beyond { kMirrored, kEmpty };

  TextureLevel(int64_t height, int64_t width, std::vector<uint8_t> pixels, Beyond beyond);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  // Pixel centres are at whole numbers; |x| and |y| are below 2^20.
  Colour at(float x, float y) const {
    constexpr int kShift = 1 << 20;  // truncation of what is positive is its floor
    const int left = static_cast<int>(static_cast<double>(x) + kShift) - kShift;
    const int top = static_cast<int>(static_cast<double>(y) + kShift) - kShift;
    const float right_share = x - static_cast<float>(left), low_share = y - static_cast<float>(top);
    const uint8_t *p00, *p01, *p10, *p11;
    if (left >= 0 && top >= 0 && left + 1 < width_ && top + 1 < height_) {
      p00 = pixels_.data() + 4 * (static_cast<int64_t>(top) * width_ + left);
      p01 = p00 + 4, p10 = p00 + 4 * width_, p11 = p10 + 4;
    } else {
      p00 = beyond_at(left, top), p01 = beyond_at(left + 1, top);
      p10 = beyond_at(left, top + 1), p11 = beyond_at(left + 1, top + 1);
    }
    Colour colour;
    for (int c = 0; c < 4; ++c) {
      const float above = p00[c] + right_share * static_cast<float>(p01[c] - p00[c]);
      const float below = p10[c] + right_share * static_cast<float>(p11[c] - p10[c]);
      colour[c] = above + low_share * (below - above);
    }
    return colour;
  }

  TextureLevel half() const;  // mean of 2 x 2 pixels

 private:
  const uint8_t* beyond_at(int x, int y) const;

  int height_, width_;
  Beyond beyond_;
  std::vector<uint8_t> pixels_;  // [H, W, 4]
};

class Texture {
 public:
  // uint8 [4, H, W]
  Texture(const Tensor& pixels, TextureLevel::Beyond beyond);

  int64_t height() const { return levels_[0].height(); }
  int64_t width() const { return levels_[0].width(); }

  // How many times halved it suits steps of `texels` a pixel: a little finer than they are, as
  // interpolation blurs.
  int level_for(double texels) const;
  const TextureLevel& level(int halvings) const { return levels_[halvings]; }

 private:
  std::vector<TextureLevel> levels_;
};

}  // namespace perceiver
