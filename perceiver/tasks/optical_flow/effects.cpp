#include "perceiver/tasks/optical_flow/effects.h"

#include <algorithm>
#include <cmath>

namespace perceiver {

void blur_motion(Rendering& frame, double shutter) {
  constexpr int kMost = 16;  // samples: a pixel apart, further where the blur is longer
  const std::vector<float> sharp = frame.colours;
  const auto right = static_cast<float>(frame.width - 1),
             low = static_cast<float>(frame.height - 1);
  int64_t i = 0;
  for (int64_t row = 0; row < frame.height; ++row) {
    for (int64_t column = 0; column < frame.width; ++column, ++i) {
      const float u = static_cast<float>(shutter) * frame.motion[2 * i];
      const float v = static_cast<float>(shutter) * frame.motion[2 * i + 1];
      const float length = std::min(std::max(std::fabs(u), std::fabs(v)), 1.0f * kMost);
      const int samples = std::min(static_cast<int>(length) + 1, kMost);
      if (samples == 1) continue;
      float sum[3] = {};
      for (int s = 0; s < samples; ++s) {
        const float time = (static_cast<float>(s) + 0.5f) / static_cast<float>(samples) - 0.5f;
        const float x = std::clamp(static_cast<float>(column) + time * u, 0.0f, right);
        const float y = std::clamp(static_cast<float>(row) + time * v, 0.0f, low);
        const auto at =
            static_cast<int64_t>(y + 0.5f) * frame.width + static_cast<int64_t>(x + 0.5f);
        for (int c = 0; c < 3; ++c) sum[c] += sharp[3 * at + c];
      }
      for (int c = 0; c < 3; ++c) frame.colours[3 * i + c] = sum[c] / static_cast<float>(samples);
    }
  }
}

void add_fog(Rendering& frame, const Fog& fog) {
  std::vector<float> row(frame.width);
  for (int64_t y = 0; y < frame.height; ++y) {
    fog.thickness.row(y, row);
    for (int64_t x = 0; x < frame.width; ++x) {
      const float share = std::clamp(static_cast<float>(fog.density) * (1.0f + row[x]), 0.0f, 0.9f);
      float* colour = frame.colours.data() + 3 * (y * frame.width + x);
      for (int c = 0; c < 3; ++c) colour[c] += share * (fog.colour[c] - colour[c]);
    }
  }
}

void change_light(Rendering& frame, const Light& light) {
  for (size_t i = 0; i < frame.colours.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) {
      const float value = frame.colours[i + c] / 255.0f;
      frame.colours[i + c] = 255.0f * (light.gain[c] * value + light.offset[c] +
                                       light.bend[c] * value * (1.0f - value));
    }
  }
}

void add_noise(Rendering& frame, double deviation, Rng& rng) {
  // Four random bytes added up are near enough to normal, and one draw makes two such sums.
  constexpr float kMean = 4 * 127.5f, kDeviation = 147.8f;  // sqrt(4 (256^2 - 1) / 12)
  const float scale = static_cast<float>(deviation) / kDeviation;
  const auto sum = [](uint64_t b) {
    return static_cast<float>((b & 255) + (b >> 8 & 255) + (b >> 16 & 255) + (b >> 24 & 255));
  };
  for (size_t i = 0; i < frame.colours.size(); i += 2) {
    const uint64_t bits = rng.bits();
    frame.colours[i] += scale * (sum(bits) - kMean);
    if (i + 1 < frame.colours.size()) frame.colours[i + 1] += scale * (sum(bits >> 32) - kMean);
  }
}

}  // namespace perceiver
