#include "perceiver/tasks/imagenet/randaugment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace perceiver {
namespace {

constexpr int64_t kLevels = 256;
constexpr int64_t kChannels = 3;

int64_t area(const Tensor& pixels) { return pixels.size(1) * pixels.size(2); }

uint8_t grey_level(double value) { return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)); }

using Table = std::array<uint8_t, kLevels>;

template <typename Function>
Table table_of(const Function& function) {
  Table table;
  for (int64_t level = 0; level < kLevels; ++level) {
    table[level] = grey_level(static_cast<double>(function(level)));
  }
  return table;
}

void look_up(const uint8_t* in, const Table& table, uint8_t* out, int64_t size) {
  for (int64_t i = 0; i < size; ++i) out[i] = table[in[i]];
}

// Every channel through one function of its levels.
template <typename Function>
Tensor map_levels(const Tensor& pixels, const Function& function) {
  Tensor out = at::empty_like(pixels);
  look_up(pixels.const_data_ptr<uint8_t>(), table_of(function), out.data_ptr<uint8_t>(),
          pixels.numel());
  return out;
}

// Each channel through a function of its own, which `table_for` makes of its histogram.
using Histogram = std::array<int64_t, kLevels>;

template <typename TableFor>
Tensor map_channels(const Tensor& pixels, const TableFor& table_for) {
  Tensor out = at::empty_like(pixels);
  const int64_t size = area(pixels);
  for (int64_t c = 0; c < kChannels; ++c) {
    const uint8_t* in = pixels.const_data_ptr<uint8_t>() + c * size;
    Histogram histogram = {};
    for (int64_t i = 0; i < size; ++i) ++histogram[in[i]];
    look_up(in, table_for(histogram), out.data_ptr<uint8_t>() + c * size, size);
  }
  return out;
}

int64_t lowest(const Histogram& h) {
  return std::find_if(h.begin(), h.end(), [](int64_t n) { return n > 0; }) - h.begin();
}

int64_t highest(const Histogram& h) {
  return h.rend() - std::find_if(h.rbegin(), h.rend(), [](int64_t n) { return n > 0; }) - 1;
}

double grey(double red, double green, double blue) {
  return 0.2989 * red + 0.587 * green + 0.114 * blue;
}

// The released code drops the fraction.
uint8_t blend(uint8_t degenerate, uint8_t level, double factor) {
  return grey_level(degenerate + factor * (level - degenerate));
}

Tensor blend(const Tensor& degenerate, const Tensor& pixels, double factor) {
  Tensor out = at::empty_like(pixels);
  const uint8_t *from = degenerate.const_data_ptr<uint8_t>(),
                *to = pixels.const_data_ptr<uint8_t>();
  uint8_t* result = out.data_ptr<uint8_t>();
  for (int64_t i = 0; i < pixels.numel(); ++i) result[i] = blend(from[i], to[i], factor);
  return out;
}

// Where the pixel at (x, y) comes from: (xx * x + xy * y + x0, yx * x + yy * y + y0).
struct Source {
  double xx = 1.0, xy = 0.0, x0 = 0.0;
  double yx = 0.0, yy = 1.0, y0 = 0.0;
};

// The nearest pixel of the source, or grey outside.
Tensor moved(const Tensor& pixels, const Source& s) {
  Tensor out = at::empty_like(pixels);
  const int64_t height = pixels.size(1), width = pixels.size(2), size = height * width;
  const uint8_t* in = pixels.const_data_ptr<uint8_t>();
  uint8_t* result = out.data_ptr<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x, ++result) {
      const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
      const int64_t from_x = std::lround(s.xx * dx + s.xy * dy + s.x0);
      const int64_t from_y = std::lround(s.yx * dx + s.yy * dy + s.y0);
      const bool inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
      const uint8_t* from = in + from_y * width + from_x;
      for (int64_t c = 0; c < kChannels; ++c) result[c * size] = inside ? from[c * size] : kGrey;
    }
  }
  return out;
}

}  // namespace

Tensor auto_contrast(const Tensor& pixels) {
  return map_channels(pixels, [](const Histogram& histogram) {
    const int64_t low = lowest(histogram), high = highest(histogram);
    return table_of(
        [&](int64_t level) { return high > low ? 255 * (level - low) / (high - low) : level; });
  });
}

Tensor equalize(const Tensor& pixels) {
  return map_channels(pixels, [&](const Histogram& histogram) {
    const int64_t step = (area(pixels) - histogram[highest(histogram)]) / 255;
    int64_t below = 0;
    return table_of([&](int64_t level) {
      if (step == 0) return level;
      const int64_t equalized = (below + step / 2) / step;
      below += histogram[level];
      return equalized;
    });
  });
}

Tensor invert(const Tensor& pixels) {
  return map_levels(pixels, [](int64_t level) { return 255 - level; });
}

Tensor posterize(const Tensor& pixels, int64_t bits) {
  const int64_t dropped = 8 - bits;
  return map_levels(pixels, [&](int64_t level) { return level >> dropped << dropped; });
}

Tensor solarize(const Tensor& pixels, int64_t threshold) {
  return map_levels(pixels, [&](int64_t level) { return level < threshold ? level : 255 - level; });
}

Tensor solarize_add(const Tensor& pixels, int64_t addition) {
  return map_levels(pixels, [&](int64_t level) { return level < 128 ? level + addition : level; });
}

Tensor color(const Tensor& pixels, double factor) {
  Tensor greys = at::empty_like(pixels);
  const int64_t size = area(pixels);
  const uint8_t* in = pixels.const_data_ptr<uint8_t>();
  uint8_t* out = greys.data_ptr<uint8_t>();
  for (int64_t i = 0; i < size; ++i) {
    const uint8_t level = grey_level(grey(in[i], in[i + size], in[i + 2 * size]) + 0.5);
    for (int64_t c = 0; c < kChannels; ++c) out[c * size + i] = level;
  }
  return blend(greys, pixels, factor);
}

// The released code takes the mean of the histogram's counts for that of the greys (the number of
// pixels over 256). At magnitude 5, the paper's, the factor is 1 and nothing is blended.
Tensor contrast(const Tensor& pixels, double factor) {
  const int64_t size = area(pixels);
  std::array<double, kChannels> sums = {};
  for (int64_t c = 0; c < kChannels; ++c) {
    const uint8_t* in = pixels.const_data_ptr<uint8_t>() + c * size;
    for (int64_t i = 0; i < size; ++i) sums[c] += in[i];
  }
  const uint8_t mean =
      grey_level(grey(sums[0], sums[1], sums[2]) / static_cast<double>(size) + 0.5);
  return map_levels(
      pixels, [&](int64_t level) { return blend(mean, static_cast<uint8_t>(level), factor); });
}

Tensor brightness(const Tensor& pixels, double factor) {
  return map_levels(pixels,
                    [&](int64_t level) { return blend(0, static_cast<uint8_t>(level), factor); });
}

// Pillow's smoothing: 5 of the pixel and 1 of each neighbour, over 13; the border stays.
Tensor sharpness(const Tensor& pixels, double factor) {
  Tensor smooth = pixels.clone();
  const int64_t height = pixels.size(1), width = pixels.size(2);
  for (int64_t row = 1; row + 1 < kChannels * height; ++row) {
    if (row % height == 0 || row % height == height - 1) continue;
    const uint8_t* in = pixels.const_data_ptr<uint8_t>() + row * width;
    uint8_t* out = smooth.data_ptr<uint8_t>() + row * width;
    for (int64_t x = 1; x + 1 < width; ++x) {
      int64_t sum = 4 * in[x];
      for (int64_t y = -1; y <= 1; ++y) {
        const uint8_t* near = in + y * width + x;
        sum += near[-1] + near[0] + near[1];
      }
      out[x] = static_cast<uint8_t>(sum / 13);
    }
  }
  return blend(smooth, pixels, factor);
}

Tensor translate(const Tensor& pixels, double x, double y) {
  return moved(pixels, {.x0 = x, .y0 = y});
}

Tensor shear_x(const Tensor& pixels, double level) { return moved(pixels, {.xy = level}); }

Tensor shear_y(const Tensor& pixels, double level) { return moved(pixels, {.yx = level}); }

Tensor rotate(const Tensor& pixels, double degrees) {
  const double radians = degrees * std::numbers::pi / 180.0;
  const double cosine = std::cos(radians), sine = std::sin(radians);
  const double x = static_cast<double>(pixels.size(2) - 1) / 2.0;
  const double y = static_cast<double>(pixels.size(1) - 1) / 2.0;
  return moved(pixels, {.xx = cosine,
                        .xy = -sine,
                        .x0 = x - cosine * x + sine * y,
                        .yx = sine,
                        .yy = cosine,
                        .y0 = y - sine * x - cosine * y});
}

Tensor cutout(const Tensor& pixels, int64_t y, int64_t x, int64_t pad) {
  Tensor out = pixels.clone();
  const int64_t height = pixels.size(1), width = pixels.size(2);
  const int64_t left = std::max<int64_t>(0, x - pad), right = std::min(width, x + pad);
  for (int64_t c = 0; c < kChannels; ++c) {
    for (int64_t row = std::max<int64_t>(0, y - pad); row < std::min(height, y + pad); ++row) {
      uint8_t* begin = out.data_ptr<uint8_t>() + (c * height + row) * width;
      std::fill(begin + left, begin + right, kGrey);
    }
  }
  return out;
}

namespace {

// One layer of one picture.
struct Layer {
  const Tensor& pixels;
  const RandAugmentConfig& config;
  Rng& rng;

  double level() const { return config.magnitude / 10.0; }
  double upto(double most) const { return most * level(); }
  double either_way(double most) const { return rng.chance(0.5) ? upto(most) : -upto(most); }
  int64_t whole(double most) const { return static_cast<int64_t>(upto(most)); }
  double factor() const { return upto(1.8) + 0.1; }  // 1, no change, at magnitude 5
};

Tensor cutout_anywhere(const Layer& l) {
  const int64_t y = l.rng.integer(l.pixels.size(1)), x = l.rng.integer(l.pixels.size(2));
  return cutout(l.pixels, y, x, l.whole(l.config.cutout));
}

// In the released code's order, with its largest arguments.
constexpr std::array<Tensor (*)(const Layer&), 16> kOperations = {
    [](const Layer& l) { return auto_contrast(l.pixels); },
    [](const Layer& l) { return equalize(l.pixels); },
    [](const Layer& l) { return invert(l.pixels); },
    [](const Layer& l) { return rotate(l.pixels, l.either_way(30.0)); },
    [](const Layer& l) { return posterize(l.pixels, l.whole(4.0)); },
    [](const Layer& l) { return solarize(l.pixels, l.whole(256.0)); },
    [](const Layer& l) { return color(l.pixels, l.factor()); },
    [](const Layer& l) { return contrast(l.pixels, l.factor()); },
    [](const Layer& l) { return brightness(l.pixels, l.factor()); },
    [](const Layer& l) { return sharpness(l.pixels, l.factor()); },
    [](const Layer& l) { return shear_x(l.pixels, l.either_way(0.3)); },
    [](const Layer& l) { return shear_y(l.pixels, l.either_way(0.3)); },
    [](const Layer& l) { return translate(l.pixels, l.either_way(l.config.translate), 0.0); },
    [](const Layer& l) { return translate(l.pixels, 0.0, l.either_way(l.config.translate)); },
    cutout_anywhere,
    [](const Layer& l) { return solarize_add(l.pixels, l.whole(110.0)); },
};

}  // namespace

Tensor randaugment(const Tensor& pixels, const RandAugmentConfig& config, Rng& rng) {
  Tensor augmented = pixels;
  for (int64_t i = 0; i < config.layers; ++i) {
    const auto operation = kOperations[rng.integer(kOperations.size())];
    augmented = operation({augmented, config, rng});
  }
  return augmented;
}

}  // namespace perceiver
