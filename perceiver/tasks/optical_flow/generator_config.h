// What generated pairs are like. AutoFlow's parameters (Sun et al., 2021) were found by search and
// are not published; these are ours.
#pragma once

#include <string>

#include "perceiver/core/config.h"

namespace perceiver {

struct GeneratorConfig {
  std::string backgrounds = {};
  std::string cutouts = {};
  int64_t textures = 96;
  double procedural_share = 0.3;
  double cutout_share = 0.5;
  double zoom_out = 2.0, zoom_in = 1.5;
  int64_t fewest_things = 1, most_things = 8;
  double smallest_thing = 0.04, largest_thing = 0.4;

  // Motion, in shares of the frame's width. A pair's speed is drawn evenly on a logarithmic scale,
  // its layers' from an exponential distribution around that: most are slow, a few very fast.
  double slowest = 0.001, fastest = 0.06, largest = 0.2;
  double still_share = 0.2;
  double turn = 0.5;
  double deformation = 0.3;
  double deformed_share = 0.5;

  double light_share = 0.5, light = 0.08;
  double fog_share = 0.1;
  double blur_share = 0.1, longest_shutter = 0.6;
  double noise_share = 0.5, most_noise = 0.03;
};

template <typename Visitor>
void fields(Visitor& visit, GeneratorConfig& c) {
  visit({"backgrounds", "Folder of pictures for what is behind; empty: drawn textures"},
        c.backgrounds);
  visit({"cutouts", "Folder of pictures with opacity for the things in front; empty: drawn shapes"},
        c.cutouts);
  visit({"textures", "Drawn textures to choose from"}, c.textures, at_least(1));
  visit({"procedural_share", "Share of textures that are drawn, where there are pictures"},
        c.procedural_share, between(0.0, 1.0));
  visit({"cutout_share", "Share of things that are cut-outs, where there are any"}, c.cutout_share,
        between(0.0, 1.0));
  visit({"zoom_out", "Times smaller, at most, that pictures are shown"}, c.zoom_out, at_least(1.0));
  visit({"zoom_in", "Times larger, at most, that pictures are shown"}, c.zoom_in, at_least(1.0));
  visit({"fewest_things", "Fewest things in front"}, c.fewest_things, between(0, 100));
  visit({"most_things", "Most things in front"}, c.most_things, between(0, 100));
  visit({"smallest_thing", "Smallest radius of a thing, as a share of the frame's height"},
        c.smallest_thing, between(0.001, 10.0));
  visit({"largest_thing", "Largest radius of a thing, as a share of the frame's height"},
        c.largest_thing, between(0.001, 10.0));
  visit({"slowest", "Slowest speed of a pair, as a share of the frame's width"}, c.slowest,
        between(1e-6, 10.0));
  visit({"fastest", "Fastest speed of a pair, as a share of the frame's width"}, c.fastest,
        between(1e-6, 10.0));
  visit({"largest", "Longest motion of any layer, as a share of the frame's width"}, c.largest,
        between(1e-6, 10.0));
  visit({"still_share", "Share of cameras, and of things, that do not move by themselves"},
        c.still_share, between(0.0, 1.0));
  visit({"turn", "Rotation, growth and shear at a thing's rim, as a share of its speed"}, c.turn,
        between(0.0, 10.0));
  visit({"deformation", "Bending, as a share of the speed"}, c.deformation, between(0.0, 10.0));
  visit({"deformed_share", "Share of layers that bend"}, c.deformed_share, between(0.0, 1.0));
  visit({"light_share", "Share of pairs whose second frame is lit otherwise"}, c.light_share,
        between(0.0, 1.0));
  visit({"light", "How much it is lit otherwise, where white is 1"}, c.light, between(0.0, 1.0));
  visit({"fog_share", "Share of pairs in fog"}, c.fog_share, between(0.0, 1.0));
  visit({"blur_share", "Share of pairs blurred by motion"}, c.blur_share, between(0.0, 1.0));
  visit({"longest_shutter", "Longest exposure of those, as a share of the time between the frames"},
        c.longest_shutter, between(0.0, 1.0));
  visit({"noise_share", "Share of pairs with noise"}, c.noise_share, between(0.0, 1.0));
  visit({"most_noise", "Strongest noise: its standard deviation, where white is 1"}, c.most_noise,
        between(0.0, 1.0));
}

}  // namespace perceiver
