#include "perceiver/media/resize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

// How a library computes the two passes, rows first. The filter's weights become numbers of the
// kind; a row's sum goes into the second pass, whose sum ends as a grey level.
struct PillowIntegers {
  using Number = int32_t;
  static constexpr int kBits = 22;
  static Number weight(double w) { return static_cast<Number>(std::round(w * (1 << kBits))); }
  static Number grey_level(Number sum) {
    return std::clamp((sum + (1 << (kBits - 1))) >> kBits, 0, 255);
  }
  static Number end_row(Number sum) { return grey_level(sum); }
  static Number in_column(Number weight, Number x) { return weight * x; }
  static Number end_column(Number sum) { return grey_level(sum); }
};

// Bits are dropped on the way so that 16 are enough for the processor's vectors.
struct OpencvIntegers {
  using Number = int32_t;
  static constexpr int kBits = 11;
  static Number weight(double w) { return static_cast<Number>(std::lrint(w * (1 << kBits))); }
  static Number end_row(Number sum) { return sum; }
  static Number in_column(Number weight, Number x) { return (weight * (x >> 4)) >> 16; }
  static Number end_column(Number sum) { return std::clamp((sum + 2) >> 2, 0, 255); }
};

// Its packages compute cubics in floats, other builds in integers, a grey level off here and there.
struct OpencvFloats {
  using Number = float;
  static Number weight(double w) { return static_cast<Number>(w); }
  static Number end_row(Number sum) { return sum; }
  static Number in_column(Number weight, Number x) { return weight * x; }
  static Number end_column(Number sum) { return std::clamp(std::nearbyint(sum), 0.0f, 255.0f); }
};

struct TensorFlowFloats {
  using Number = float;
  static Number weight(double w) { return static_cast<Number>(w); }
  static Number end_row(Number sum) { return sum; }
  static Number in_column(Number weight, Number x) { return weight * x; }
  static Number end_column(Number sum) { return sum; }
};

// One output pixel: a weighted sum of neighbours, from `first` on.
struct Taps {
  int64_t first;
  std::vector<double> weights;
};
using Filter = std::vector<Taps>;  // one for each output pixel

// weights[i] is for pixel `first + i`; beyond the border the outermost pixel is repeated.
Taps repeat_border(int64_t first, const std::vector<double>& weights, int64_t size) {
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at, 0, size - 1); };
  const auto last = first + static_cast<int64_t>(weights.size()) - 1;
  Taps taps{inside(first), std::vector<double>(inside(last) - inside(first) + 1)};
  for (size_t i = 0; i < weights.size(); ++i) {
    taps.weights[inside(first + static_cast<int64_t>(i)) - taps.first] += weights[i];
  }
  return taps;
}

// Keys' cubic convolution; the libraries disagree on `a`.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double cubic_opencv(double x) { return cubic(x, -0.75); }

double cubic_keys(double x) { return cubic(x, -0.5); }

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// What a filter weighs neighbours by, at most `reach` pixels away.
struct Curve {
  double (*at)(double);
  int64_t reach;
};

void scale_to_one(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

Filter filter_opencv(int64_t from, int64_t to, Curve curve) {
  Filter filter;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale - 0.5;
    const auto first = static_cast<int64_t>(std::floor(centre)) - curve.reach + 1;
    std::vector<double> weights;
    for (int64_t at = first; at < first + 2 * curve.reach; ++at) {
      weights.push_back(curve.at(static_cast<double>(at) - centre));
    }
    filter.push_back(repeat_border(first, weights, from));
  }
  return filter;
}

// TensorFlow looks the curve up in a table with 1024 entries a pixel.
Filter filter_tensorflow(int64_t from, int64_t to, Curve curve) {
  constexpr double kPlaces = 1024.0;
  Filter filter;
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const double before = std::floor(centre);
    const double place = before + std::nearbyint((centre - before) * kPlaces) / kPlaces;
    const auto first = static_cast<int64_t>(before) - curve.reach + 1;
    Taps taps{std::max<int64_t>(0, first), {}};
    for (int64_t at = taps.first; at < std::min(first + 2 * curve.reach, from); ++at) {
      taps.weights.push_back(curve.at(static_cast<double>(at) - place));
    }
    scale_to_one(taps.weights);
    filter.push_back(std::move(taps));
  }
  return filter;
}

// Where the output is coarser than the input, the curve spans pixels of the output.
Filter filter_pillow(int64_t from, int64_t to, Curve curve) {
  Filter filter;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double reach = static_cast<double>(curve.reach) * stretch;
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Taps taps{std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5)), {}};
    const auto end = std::min<int64_t>(from, static_cast<int64_t>(centre + reach + 0.5));
    for (int64_t at = taps.first; at < end; ++at) {
      taps.weights.push_back(curve.at((static_cast<double>(at) - centre + 0.5) / stretch));
    }
    scale_to_one(taps.weights);
    filter.push_back(std::move(taps));
  }
  return filter;
}

template <typename Arithmetic>
std::vector<typename Arithmetic::Number> numbers(const std::vector<double>& weights) {
  std::vector<typename Arithmetic::Number> numbers(weights.size());
  std::transform(weights.begin(), weights.end(), numbers.begin(), Arithmetic::weight);
  return numbers;
}

// in uint8 [H, W], sums [H, w] for the taps of w pixels
template <typename Arithmetic>
void filter_rows(const Tensor& in, const Filter& filter,
                 std::vector<typename Arithmetic::Number>& sums) {
  const auto width = static_cast<int64_t>(filter.size());
  for (int64_t x = 0; x < width; ++x) {
    const auto weights = numbers<Arithmetic>(filter[x].weights);
    const uint8_t* pixels = in.const_data_ptr<uint8_t>() + filter[x].first;
    for (int64_t y = 0; y < in.size(0); ++y, pixels += in.size(1)) {
      typename Arithmetic::Number sum = 0;
      for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * pixels[i];
      sums[y * width + x] = Arithmetic::end_row(sum);
    }
  }
}

// sums [H, W] -> `Pixel` [h, W]
template <typename Arithmetic, typename Pixel>
Tensor filter_columns(const std::vector<typename Arithmetic::Number>& sums, int64_t width,
                      const Filter& filter) {
  const Tensor pixels = at::empty({static_cast<int64_t>(filter.size()), width},
                                  c10::CppTypeToScalarType<Pixel>::value);
  Pixel* out = pixels.data_ptr<Pixel>();
  std::vector<typename Arithmetic::Number> row(width);
  for (const Taps& taps : filter) {
    std::fill(row.begin(), row.end(), 0);
    const auto* in = sums.data() + taps.first * width;
    for (const auto weight : numbers<Arithmetic>(taps.weights)) {
      for (int64_t x = 0; x < width; ++x) row[x] += Arithmetic::in_column(weight, in[x]);
      in += width;
    }
    for (const auto sum : row) *out++ = static_cast<Pixel>(Arithmetic::end_column(sum));
  }
  return pixels;
}

void check(const Tensor& pixels, ImageSize size) {
  check_shape(pixels, {kAny, kAny, kAny}, "picture");
  if (pixels.scalar_type() != at::kByte) {
    fail("picture has elements of type {}, expected uint8", c10::toString(pixels.scalar_type()));
  }
  if (pixels.numel() == 0 || size.height < 1 || size.width < 1) {
    fail("cannot resize a picture of {} x {} pixels to {} x {}", pixels.size(2), pixels.size(1),
         size.width, size.height);
  }
}

// pixels uint8 [C, H, W] -> `Pixel` [C, h, w]
template <typename Arithmetic, typename Pixel = uint8_t>
Tensor resize(const Tensor& pixels, ImageSize size, Filter (*filter)(int64_t, int64_t, Curve),
              Curve curve) {
  check(pixels, size);
  const Filter rows = filter(pixels.size(2), size.width, curve);
  const Filter columns = filter(pixels.size(1), size.height, curve);
  std::vector<typename Arithmetic::Number> sums(pixels.size(1) * size.width);
  std::vector<Tensor> planes;
  for (const Tensor& plane : pixels.contiguous().unbind()) {
    filter_rows<Arithmetic>(plane, rows, sums);
    planes.push_back(filter_columns<Arithmetic, Pixel>(sums, size.width, columns));
  }
  return at::stack(planes);
}

}  // namespace

Tensor resize_cubic_opencv(const Tensor& pixels, ImageSize size) {
  return resize<OpencvFloats>(pixels, size, filter_opencv, {cubic_opencv, 2});
}

Tensor resize_linear_opencv(const Tensor& pixels, ImageSize size) {
  return resize<OpencvIntegers>(pixels, size, filter_opencv, {triangle, 1});
}

Tensor resize_bicubic_pillow(const Tensor& pixels, ImageSize size) {
  return resize<PillowIntegers>(pixels, size, filter_pillow, {cubic_keys, 2});
}

Tensor resize_bilinear_pillow(const Tensor& pixels, ImageSize size) {
  return resize<PillowIntegers>(pixels, size, filter_pillow, {triangle, 1});
}

Tensor resize_bicubic_tensorflow(const Tensor& pixels, ImageSize size) {
  return resize<TensorFlowFloats, float>(pixels, size, filter_tensorflow, {cubic_keys, 2});
}

}  // namespace perceiver
