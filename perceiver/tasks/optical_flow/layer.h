// Things of a generated scene, one behind the other, and what two frames show of them.
//
// A layer is a picture on a plane of its own, which moves. With d a smooth deformation and A an
// affine map, frame 1 shows at p the plane's point p + d(p), and frame 2 at q its point A^-1 q. So
// p is seen again at A(p + d(p)): all three maps are exact, and none has to be inverted by search.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "perceiver/tasks/optical_flow/affine.h"
#include "perceiver/tasks/optical_flow/smooth_field.h"
#include "perceiver/tasks/optical_flow/star_shape.h"
#include "perceiver/tasks/optical_flow/texture.h"

namespace perceiver {

struct Layer {
  std::shared_ptr<const Texture> texture = {};
  Affine to_texture = {};                     // from the plane to texels
  std::optional<StarShape> shape = {};        // without: all of the texture
  double x = 0.0, y = 0.0, reach = INFINITY;  // all of it lies so near to a point of the plane
  Affine motion = {};
  struct Deformation {
    SmoothField x, y;
    double largest;  // in pixels, about
  };
  std::optional<Deformation> deformation = {};
  Colour gain = {1, 1, 1, 1}, offset = {};  // of the texture's colours
};

struct Rendering {
  void resize(int64_t new_height, int64_t new_width);

  int64_t height = 0, width = 0;
  std::vector<float> colours = {};  // [3, H, W], in [0, 255] but for gains and offsets
  std::vector<uint8_t> front = {};  // [H, W], the number of the layer that is seen
  // [2, H, W], how that moves from frame 1 to frame 2, in pixels; exact in frame 1 (its flow),
  // without the deformation in frame 2
  std::vector<float> motion = {};
};

enum class FrameOfPair { kFirst, kSecond };

// Layers from the back to the front; the first covers everything.
void render(const std::vector<Layer>& layers, FrameOfPair frame, Rendering& to);

}  // namespace perceiver
