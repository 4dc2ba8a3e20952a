#include "perceiver/tasks/optical_flow/effects.h"

#include <algorithm>
#include <cmath>

namespace perceiver {

void blur_motion(Rendering& frame, double shutter) {
  constexpr int kMost = 16;  // samples: a pixel apart, further where the blur is longer
  const std::vector<float> sharp = frame.colours;
  const int64_t pixels = frame.height * frame.width;
  const auto right = static_cast<float>(frame.width - 1),
             low = static_cast<float>(frame.height - 1);
  int64_t i = 0;
  for (int64_t row = 0; row < frame.height; ++row) {
    for (int64_t column = 0; column < frame.width; ++column, ++i) {
      const float u = static_cast<float>(shutter) * frame.motion[i];
      const float v = static_cast<float>(shutter) * frame.motion[pixels + i];
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
        for (int c = 0; c < 3; ++c) sum[c] += sharp[c * pixels + at];
      }
      for (int c = 0; c < 3; ++c) {
        frame.colours[c * pixels + i] = sum[c] / static_cast<float>(samples);
      }
    }
  }
}

void add_fog(Rendering& frame, const Fog& fog) {
  std::vector<float> row(frame.width);
  for (int64_t y = 0; y < frame.height; ++y) {
    fog.thickness.row(0, y, row);
    for (float& share : row) {
      share = std::clamp(static_cast<float>(fog.density) * (1.0f + share), 0.0f, 0.9f);
    }
    for (int c = 0; c < 3; ++c) {
      float* colour = frame.colours.data() + (c * frame.height + y) * frame.width;
      for (int64_t x = 0; x < frame.width; ++x) colour[x] += row[x] * (fog.colour[c] - colour[x]);
    }
  }
}

void change_light(Rendering& frame, const Light& light) {
  const int64_t pixels = frame.height * frame.width;
  for (int c = 0; c < 3; ++c) {
    const float gain = light.gain[c], offset = light.offset[c], bend = light.bend[c];
    float* colour = frame.colours.data() + c * pixels;
    for (int64_t i = 0; i < pixels; ++i) {
      const float value = colour[i] / 255.0f;
      colour[i] = 255.0f * (gain * value + offset + bend * value * (1.0f - value));
    }
  }
}

void add_noise(Rendering& frame, double deviation, Rng& rng) {
  // Four random bytes added up are near enough to normal, and one draw makes two such sums.
  constexpr float kMean = 4 * 127.5f, kDeviation = 147.8f;  // sqrt(4 (256^2 - 1) / 12)
  const float scale = static_cast<float>(deviation) / kDeviation;
  const int64_t pixels = frame.height * frame.width;
  float* red = frame.colours.data();
  float *green = red + pixels, *blue = green + pixels;
  const auto noise = [&](uint64_t bits) {
    // Bytes next to each other added, then the two sums of them.
    const uint64_t pairs = (bits & 0x00FF00FF) + (bits >> 8 & 0x00FF00FF);
    return scale *
           (static_cast<float>(static_cast<int32_t>((pairs >> 16) + (pairs & 0xFFFF))) - kMean);
  };
  int64_t i = 0;
  for (; i + 1 < pixels; i += 2) {
    const uint64_t a = rng.bits(), b = rng.bits(), c = rng.bits();
    red[i] += noise(a), green[i] += noise(a >> 32), blue[i] += noise(b);
    red[i + 1] += noise(b >> 32), green[i + 1] += noise(c), blue[i + 1] += noise(c >> 32);
  }
  if (i < pixels) {
    const uint64_t a = rng.bits(), b = rng.bits();
    red[i] += noise(a), green[i] += noise(a >> 32), blue[i] += noise(b);
  }
}

}  // namespace perceiver
