// Augmentation of pairs as RAFT does it (Teed and Deng, 2020), in its order: colours, eraser, scale
// and stretch, flips, crop.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/core/rng.h"
#include "perceiver/media/resize.h"
#include "perceiver/tasks/optical_flow/colour_jitter.h"
#include "perceiver/tasks/optical_flow/pair.h"

namespace perceiver {

// Shares are of pairs. Scales are powers of two: 1 doubles a side.
struct FlowAugmentConfig {
  JitterConfig jitter = {};
  double erase_share = 0.5;
  double erase_smallest = 50.0, erase_largest = 100.0;
  double resize_share = 0.8;
  double smallest_scale = -0.2, largest_scale = 0.6;  // RAFT's for Sintel; the paper's is not known
  double stretch_share = 0.8, stretch = 0.2;
  double flip_share = 0.5, vertical_flip_share = 0.1;
};

template <typename Visitor>
void fields(Visitor& visit, FlowAugmentConfig& c) {
  visit({"jitter", "Random changes of colour"}, c.jitter);
  visit({"erase_share",
         "Share of pairs in whose second frame one or two rectangles become its mean colour"},
        c.erase_share, between(0.0, 1.0));
  visit({"erase_smallest", "Shortest side of such a rectangle, in pixels"}, c.erase_smallest,
        at_least(1.0));
  visit({"erase_largest", "Longest side of such a rectangle, in pixels"}, c.erase_largest,
        at_least(1.0));
  visit({"resize_share", "Share of pairs that are resized"}, c.resize_share, between(0.0, 1.0));
  visit({"smallest_scale", "Smallest size, as a power of two: -1 halves a side"}, c.smallest_scale,
        between(-4.0, 4.0));
  visit({"largest_scale", "Largest size, as a power of two: 1 doubles a side"}, c.largest_scale,
        between(-4.0, 4.0));
  visit({"stretch_share", "Share of pairs whose axes are stretched apart"}, c.stretch_share,
        between(0.0, 1.0));
  visit({"stretch", "Most stretch of an axis, up or down, as a power of two"}, c.stretch,
        between(0.0, 4.0));
  visit({"flip_share", "Share of pairs mirrored left to right"}, c.flip_share, between(0.0, 1.0));
  visit({"vertical_flip_share", "Share of pairs turned upside down"}, c.vertical_flip_share,
        between(0.0, 1.0));
}

// `strength` in [0, 1] times the config's amounts and shares; with 0, a random crop is all. Pairs
// that are too small for the crop are enlarged to it, whatever the strength.
FlowPair augment(const FlowPair& pair, ImageSize crop, const FlowAugmentConfig& config,
                 double strength, Rng& rng);

// One or two rectangles of a frame float [3, H, W] in its mean colour.
void erase(Tensor frame, const FlowAugmentConfig& config, Rng& rng);

// How a crop is taken from a pair: from the pair at another size, flipped there.
struct CropPlace {
  ImageSize resized;
  bool flip = false, flip_vertically = false;
  int64_t top = 0, left = 0;
};

// frames float [2, 3, H, W] between four pixels each, as OpenCV's INTER_LINEAR; the flow likewise,
// and as the nearest pixel's where one of the four is not known.
FlowPair crop_of(const Tensor& frames, const FlowPair& pair, ImageSize crop,
                 const CropPlace& place);

}  // namespace perceiver
