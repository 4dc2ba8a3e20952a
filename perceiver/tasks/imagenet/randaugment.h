// RandAugment (paper, App. A; Cubuk et al. 2020): a few of sixteen operations on a picture, drawn
// at random and applied one after the other. The operations and their constants are those of the
// released code.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/core/rng.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

struct RandAugmentConfig {
  int64_t layers = 4;
  double magnitude = 5.0;
  double translate = 100.0;
  double cutout = 40.0;
};

template <typename Visitor>
void fields(Visitor& visit, RandAugmentConfig& c) {
  visit({"layers", "Operations on a picture; 0: none"}, c.layers, at_least(0));
  visit({"magnitude", "Strength of each operation, up to 10"}, c.magnitude, between(0.0, 10.0));
  visit({"translate", "Pixels a picture is moved by, at magnitude 10"}, c.translate, at_least(0.0));
  visit({"cutout", "Pixels from the middle of the grey square to its sides, at magnitude 10"},
        c.cutout, at_least(0.0));
}

// A picture is uint8 [3, H, W], contiguous, here and below.
Tensor randaugment(const Tensor& pixels, const RandAugmentConfig& config, Rng& rng);

// What is moved in from outside a picture, or cut out of it.
constexpr uint8_t kGrey = 128;

Tensor auto_contrast(const Tensor& pixels);  // each channel stretched to 0..255
Tensor equalize(const Tensor& pixels);       // each channel's levels made equally frequent
Tensor invert(const Tensor& pixels);
Tensor posterize(const Tensor& pixels, int64_t bits);         // that are kept of eight
Tensor solarize(const Tensor& pixels, int64_t threshold);     // inverted from there up
Tensor solarize_add(const Tensor& pixels, int64_t addition);  // to what is below 128

// Away from a degenerate picture (factor 0) to the picture itself (1) and beyond: from its greys,
// its mean grey, black, and itself smoothed.
Tensor color(const Tensor& pixels, double factor);
Tensor contrast(const Tensor& pixels, double factor);
Tensor brightness(const Tensor& pixels, double factor);
Tensor sharpness(const Tensor& pixels, double factor);

// Pixels are moved, none is interpolated. What is at x (y) came from x + ...
Tensor translate(const Tensor& pixels, double x, double y);  // ... these pixels
Tensor shear_x(const Tensor& pixels, double level);          // ... level * y
Tensor shear_y(const Tensor& pixels, double level);
Tensor rotate(const Tensor& pixels, double degrees);  // about the middle

// A grey square of twice `pad` pixels about row y, column x, as far as it is inside.
Tensor cutout(const Tensor& pixels, int64_t y, int64_t x, int64_t pad);

}  // namespace perceiver
