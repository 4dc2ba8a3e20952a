// Peak signal-to-noise ratio, by which the paper measures reconstructions (Sec. 4.3, Tab. 4).
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// 10 log10(peak^2 / mean squared error), in decibels; infinite where nothing differs.
double psnr(double mean_squared_error, double peak);

// With a peak of 1, for video in [0, 1] and for sound in [-1, 1] alike, both cut to their range as
// they are when seen and heard. The mean is over every value added, so long clips and short chunks
// weigh as they last. The paper gives neither the peak nor how it averages; by the peak-to-peak 2
// of sound a figure is 6.02 dB higher.
class Psnr {
 public:
  Psnr() = default;
  explicit Psnr(double peak) : peak_(peak) {}

  // Of one shape, and in one range.
  void add(const Tensor& original, const Tensor& reconstruction);

  double decibels() const;  // infinite where nothing differs

 private:
  double peak_ = 1.0;
  double squared_errors_ = 0.0;
  int64_t count_ = 0;
};

}  // namespace perceiver
