#include "perceiver/tasks/optical_flow/colour_jitter.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace perceiver {
namespace {

float clamped(float value) { return std::min(std::max(value, 0.0f), 255.0f); }

float grey(const FramePixels& f, int64_t i) {
  return 0.299f * f.red[i] + 0.587f * f.green[i] + 0.114f * f.blue[i];
}

// Each value c of a pixel becomes away + factor (c - away).
template <typename Away>
void move_from(const JitteredFrames& frames, double factor, Away away) {
  const auto by = static_cast<float>(factor);
  for (const FramePixels& f : frames) {
    for (int64_t i = 0; i < f.pixels; ++i) {
      const float from = away(f, i);
      for (float* plane : {f.red, f.green, f.blue}) {
        plane[i] = clamped(from + by * (plane[i] - from));
      }
    }
  }
}

void turn_pixel(float& red, float& green, float& blue, float turns) {
  const float most = std::max({red, green, blue}), span = most - std::min({red, green, blue});
  if (span <= 0.0f) return;  // grey has no hue
  float sixths;              // of the wheel, from red
  if (most == red) {
    sixths = (green - blue) / span;
  } else if (most == green) {
    sixths = 2.0f + (blue - red) / span;
  } else {
    sixths = 4.0f + (red - green) / span;
  }
  sixths += 6.0f * turns;  // at most half a turn
  if (sixths < 0.0f) sixths += 6.0f;
  // A channel is full within a sixth of its hue, and gone two sixths away.
  const auto channel = [&](float hue) {
    const float away = std::fabs(sixths - hue), nearer = std::min(away, std::fabs(6.0f - away));
    return most - span * std::clamp(nearer - 1.0f, 0.0f, 1.0f);
  };
  red = channel(0.0f), green = channel(2.0f), blue = channel(4.0f);
}

}  // namespace

void change_brightness(const JitteredFrames& frames, double factor) {
  move_from(frames, factor, [](const FramePixels&, int64_t) { return 0.0f; });
}

void change_contrast(const JitteredFrames& frames, double factor) {
  double sum = 0.0, pixels = 0.0;
  for (const FramePixels& f : frames) {
    for (int64_t i = 0; i < f.pixels; ++i) sum += static_cast<double>(grey(f, i));
    pixels += static_cast<double>(f.pixels);
  }
  const auto mean = static_cast<float>(sum / pixels);
  move_from(frames, factor, [mean](const FramePixels&, int64_t) { return mean; });
}

void change_saturation(const JitteredFrames& frames, double factor) {
  move_from(frames, factor, grey);
}

void turn_hue(const JitteredFrames& frames, double turns) {
  for (const FramePixels& f : frames) {
    for (int64_t i = 0; i < f.pixels; ++i) {
      turn_pixel(f.red[i], f.green[i], f.blue[i], static_cast<float>(turns));
    }
  }
}

void jitter(const JitteredFrames& frames, const JitterConfig& config, double strength, Rng& rng) {
  std::array<int, 4> order = {0, 1, 2, 3};
  for (int64_t i = 3; i > 0; --i) std::swap(order[i], order[rng.integer(i + 1)]);
  const auto around = [&](double middle, double most) {
    return rng.uniform(middle - strength * most, middle + strength * most);
  };
  const double brightness = around(1.0, config.brightness), contrast = around(1.0, config.contrast);
  const double saturation = around(1.0, config.saturation), hue = around(0.0, config.hue);
  for (const int step : order) {
    if (step == 0 && brightness != 1.0) change_brightness(frames, brightness);
    if (step == 1 && contrast != 1.0) change_contrast(frames, contrast);
    if (step == 2 && saturation != 1.0) change_saturation(frames, saturation);
    if (step == 3 && hue != 0.0) turn_hue(frames, hue);
  }
}

}  // namespace perceiver
