// Colours of frames at random, as torchvision's ColorJitter changes them and RAFT uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "perceiver/core/config.h"
#include "perceiver/core/rng.h"

namespace perceiver {

struct JitterConfig {
  double brightness = 0.4, contrast = 0.4, saturation = 0.4;  // factors are 1 - x to 1 + x
  double hue = 0.159;                                         // turns of the colour wheel; 0.5 / pi
  double apart_share = 0.2;                                   // of pairs whose frames differ in it
};

template <typename Visitor>
void fields(Visitor& visit, JitterConfig& c) {
  visit("brightness", c.brightness, between(0.0, 1.0));
  visit("contrast", c.contrast, between(0.0, 1.0));
  visit("saturation", c.saturation, between(0.0, 1.0));
  visit("hue", c.hue, between(0.0, 0.5));
  visit("apart_share", c.apart_share, between(0.0, 1.0));
}

// A frame [3, pixels] of values in [0, 255], changed in place.
struct FramePixels {
  float *red, *green, *blue;
  int64_t pixels;
};

// Of all frames together: contrast grows around their common mean.
using JitteredFrames = std::vector<FramePixels>;
void change_brightness(const JitteredFrames& frames, double factor);
void change_contrast(const JitteredFrames& frames, double factor);
void change_saturation(const JitteredFrames& frames, double factor);
void turn_hue(const JitteredFrames& frames, double turns);

// The four in a random order, each by a random amount of up to `strength` times the config's.
void jitter(const JitteredFrames& frames, const JitterConfig& config, double strength, Rng& rng);

}  // namespace perceiver
