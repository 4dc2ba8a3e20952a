#include "perceiver/tasks/optical_flow/generator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/tasks/optical_flow/effects.h"

namespace perceiver {
namespace {

void copy_frame(const Rendering& from, uint8_t* __restrict to) {
  const float* __restrict colours = from.colours.data();
  const auto values = static_cast<int64_t>(from.colours.size());
  for (int64_t i = 0; i < values; ++i) {
    const float value = std::min(std::max(colours[i], 0.0f), 255.0f);
    to[i] = static_cast<uint8_t>(static_cast<int32_t>(value + 0.5f));
  }
}

Light random_light(double strength, Rng& rng) {
  Light light;
  const double gain = strength * rng.normal(), offset = strength * rng.normal();
  const double bend = 2.0 * strength * rng.normal();
  for (int c = 0; c < 3; ++c) {
    light.gain[c] = static_cast<float>(1.0 + gain + 0.4 * strength * rng.normal());
    light.offset[c] = static_cast<float>(0.5 * offset + 0.2 * strength * rng.normal());
    light.bend[c] = static_cast<float>(std::clamp(bend, -0.8, 0.8));
  }
  return light;
}

}  // namespace

GeneratedPair to_pair(const Rendering& first, const Rendering& second) {
  const int64_t height = first.height, width = first.width, pixels = height * width;
  GeneratedPair made{{at::empty({2, 3, height, width}, at::kByte), at::empty({2, height, width}),
                      at::ones({height, width}, at::kBool)},
                     at::empty({height, width}, at::kBool)};
  auto* frames = made.pair.frames.data_ptr<uint8_t>();
  copy_frame(first, frames);
  copy_frame(second, frames + 3 * pixels);
  std::copy(first.motion.begin(), first.motion.end(), made.pair.flow.data_ptr<float>());
  auto* hidden = made.hidden.data_ptr<bool>();
  int64_t i = 0;
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column, ++i) {
      const float u = first.motion[i], v = first.motion[pixels + i];
      const float x = static_cast<float>(column) + u + 0.5f, y = static_cast<float>(row) + v + 0.5f;
      const bool inside =
          x >= 0 && y >= 0 && x < static_cast<float>(width) && y < static_cast<float>(height);
      hidden[i] =
          !inside ||
          first.front[i] != second.front[static_cast<int64_t>(y) * width + static_cast<int64_t>(x)];
    }
  }
  return made;
}

FlowGenerator::FlowGenerator(const GeneratorConfig& config, int64_t height, int64_t width)
    : config_(config), height_(height), width_(width), textures_(config) {}

GeneratedPair FlowGenerator::pair(Rng& rng) const {
  const std::vector<Layer> layers = Scene(config_, textures_, height_, width_).draw(rng);
  // Kept by each thread: the system clears memory that it gives, and that takes time.
  thread_local Rendering first, second;
  first.resize(height_, width_), second.resize(height_, width_);
  render(layers, FrameOfPair::kFirst, first);
  render(layers, FrameOfPair::kSecond, second);
  film(first, second, rng);
  return to_pair(first, second);
}

void FlowGenerator::film(Rendering& first, Rendering& second, Rng& rng) const {
  if (rng.chance(config_.blur_share)) {
    const double shutter = rng.uniform(0.0, config_.longest_shutter);
    blur_motion(first, shutter), blur_motion(second, shutter);
  }
  if (rng.chance(config_.fog_share)) {
    const auto grey = static_cast<float>(rng.uniform(120.0, 250.0));
    const Fog fog{SmoothField(height_, width_, 0.3 * static_cast<double>(width_), 0.7, rng),
                  rng.uniform(0.05, 0.5),
                  {grey, grey, grey + 5.0f, 255.0f}};
    add_fog(first, fog), add_fog(second, fog);
  }
  if (rng.chance(config_.light_share)) change_light(second, random_light(config_.light, rng));
  if (rng.chance(config_.noise_share)) {
    const double deviation = 255.0 * config_.most_noise * rng.uniform() * rng.uniform();
    add_noise(first, deviation, rng), add_noise(second, deviation, rng);
  }
}

}  // namespace perceiver
