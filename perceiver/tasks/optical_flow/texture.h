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

// What a few pixels next to each other show of a texture. Arrays of a known size lie apart for
// sure, so that compilers vectorise the loops over them.
struct TextureBlock {
  static constexpr int64_t kPixels = 64;  // at most
  template <typename Number>
  using Array = Number[kPixels];

  int64_t count = 0;
  Array<float> x, y;        // where: centres of texels are at whole numbers
  Array<float> colours[4];  // the channels of a Colour

  // The four texels around each place, and how near it is to those on the right and below.
  Array<int32_t> corners[4];
  Array<float> right_share, low_share;
};

// A picture at some size, between whose pixels values are interpolated.
class TextureLevel {
 public:
  using Texel = uint32_t;  // a byte a channel, red the lowest

  // What lies beyond the edges: a cut-out ends there, any other picture is mirrored.
  enum class Beyond { kMirrored, kEmpty };

  TextureLevel(int64_t height, int64_t width, std::vector<Texel> texels, Beyond beyond);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  // The colours at the block's x and y, which are below 2^20.
  void read(TextureBlock& block) const;

  TextureLevel half() const;  // mean of 2 x 2 pixels

 private:
  void read_beyond(TextureBlock& block) const;
  int32_t beyond_at(int32_t x, int32_t y) const;

  int32_t height_, width_;
  Beyond beyond_;
  bool opaque_;
  std::vector<Texel> texels_;  // [H, W], and then one of nothing
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
