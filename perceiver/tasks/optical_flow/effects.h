// What a camera adds to a rendered frame: blur of what moves, fog, light that changes, noise.
#pragma once

#include "perceiver/tasks/optical_flow/layer.h"

namespace perceiver {

// Each pixel's colour becomes the mean along its own motion while the shutter was open, in shares
// of the time between the frames.
void blur_motion(Rendering& frame, double shutter);

// A colour that covers the frame unevenly, by `density` on the average.
struct Fog {
  SmoothField thickness;  // standard normal
  double density;
  Colour colour;
};
void add_fog(Rendering& frame, const Fog& fog);

// A picture under other light: c -> gain c + offset + bend c (1 - c), of c in [0, 1], a channel
// each.
struct Light {
  Colour gain = {1, 1, 1, 1}, offset = {}, bend = {};
};
void change_light(Rendering& frame, const Light& light);

void add_noise(Rendering& frame, double deviation, Rng& rng);  // of values in [0, 255]

}  // namespace perceiver
