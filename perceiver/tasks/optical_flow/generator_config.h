// What generated pairs are like. AutoFlow's parameters (Sun et al., 2021) were found by search and
// are not published; these are ours.
#pragma once

#include <string>

#include "perceiver/core/config.h"

namespace perceiver {

struct GeneratorConfig {
  std::string backgrounds = {};          // folder of pictures
  std::string cutouts = {};              // folder of pictures with opacity, for the things in front
  int64_t textures = 96;                 // our own
  double procedural_share = 0.3;         // of textures that are our own, where there are pictures
  double cutout_share = 0.5;             // of things that are cut-outs, where there are any
  double zoom_out = 2.0, zoom_in = 1.5;  // pictures are shown at most so much smaller or larger
  int64_t fewest_things = 1, most_things = 8;
  double smallest_thing = 0.04, largest_thing = 0.4;  // radius, in shares of the frame's height

  // Motion, in shares of the frame's width. A pair's speed is drawn evenly on a logarithmic scale,
  // its layers' from an exponential distribution around that: most are slow, a few very fast.
  double slowest = 0.001, fastest = 0.06, largest = 0.2;
  double still_share = 0.2;     // of cameras, and of things, that do not move by themselves
  double turn = 0.5;            // rotation, growth and shear: about so much of the speed at the rim
  double deformation = 0.3;     // bending: about so much of the speed
  double deformed_share = 0.5;  // of layers

  double light_share = 0.5, light = 0.08;  // of pairs whose second frame is lit otherwise; how much
  double fog_share = 0.1;
  double blur_share = 0.1, longest_shutter = 0.6;
  double noise_share = 0.5, most_noise = 0.03;  // standard deviation, where white is 1
};

template <typename Visitor>
void fields(Visitor& visit, GeneratorConfig& c) {
  visit("backgrounds", c.backgrounds);
  visit("cutouts", c.cutouts);
  visit("textures", c.textures, at_least(1));
  visit("procedural_share", c.procedural_share, between(0.0, 1.0));
  visit("cutout_share", c.cutout_share, between(0.0, 1.0));
  visit("zoom_out", c.zoom_out, at_least(1.0));
  visit("zoom_in", c.zoom_in, at_least(1.0));
  visit("fewest_things", c.fewest_things, between(0, 100));
  visit("most_things", c.most_things, between(0, 100));
  visit("smallest_thing", c.smallest_thing, between(0.001, 10.0));
  visit("largest_thing", c.largest_thing, between(0.001, 10.0));
  visit("slowest", c.slowest, between(1e-6, 10.0));
  visit("fastest", c.fastest, between(1e-6, 10.0));
  visit("largest", c.largest, between(1e-6, 10.0));
  visit("still_share", c.still_share, between(0.0, 1.0));
  visit("turn", c.turn, between(0.0, 10.0));
  visit("deformation", c.deformation, between(0.0, 10.0));
  visit("deformed_share", c.deformed_share, between(0.0, 1.0));
  visit("light_share", c.light_share, between(0.0, 1.0));
  visit("light", c.light, between(0.0, 1.0));
  visit("fog_share", c.fog_share, between(0.0, 1.0));
  visit("blur_share", c.blur_share, between(0.0, 1.0));
  visit("longest_shutter", c.longest_shutter, between(0.0, 1.0));
  visit("noise_share", c.noise_share, between(0.0, 1.0));
  visit("most_noise", c.most_noise, between(0.0, 1.0));
}

}  // namespace perceiver
