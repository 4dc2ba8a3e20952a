// Colours of frames at random, as torchvision's ColorJitter changes them and RAFT uses it.
#pragma once

#include <cstdint>
#include <vector>

#include "perceiver/core/config.h"
#include "perceiver/core/rng.h"

namespace perceiver {

struct JitterConfig {
  double brightness = 0.4, contrast = 0.4, saturation = 0.4;
  double hue = 0.159;  // turns of the colour wheel; 0.5 / pi
  double apart_share = 0.2;
};

template <typename Visitor>
void fields(Visitor& visit, JitterConfig& c) {
  visit({"brightness", "Most change of brightness: x gives factors of 1 - x to 1 + x"},
        c.brightness, between(0.0, 1.0));
  visit({"contrast", "Most change of contrast, likewise"}, c.contrast, between(0.0, 1.0));
  visit({"saturation", "Most change of saturation, likewise"}, c.saturation, between(0.0, 1.0));
  visit({"hue", "Most change of hue, in turns of the colour wheel"}, c.hue, between(0.0, 0.5));
  visit({"apart_share", "Share of pairs whose frames are changed differently"}, c.apart_share,
        between(0.0, 1.0));
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
