#include "perceiver/tasks/optical_flow/layer.h"

#include <algorithm>
#include <cmath>

namespace perceiver {
namespace {

struct Box {
  int64_t left, top, right, bottom;  // the last two are outside
};

// The pixels where a layer may be seen.
Box box_of(const Layer& layer, FrameOfPair frame, int64_t height, int64_t width) {
  if (!std::isfinite(layer.reach)) return {0, 0, width, height};
  double x = layer.x, y = layer.y, reach_x = layer.reach, reach_y = layer.reach;
  if (frame == FrameOfPair::kSecond) {
    const Affine& a = layer.motion;
    x = a.x(layer.x, layer.y), y = a.y(layer.x, layer.y);
    // Of a disc, which an affine map makes an ellipse.
    reach_x = layer.reach * std::hypot(a.xx, a.xy), reach_y = layer.reach * std::hypot(a.yx, a.yy);
  } else if (layer.deformation) {
    reach_x += 4.0 * layer.deformation->largest, reach_y += 4.0 * layer.deformation->largest;
  }
  const auto clamped = [](double v, int64_t size) {
    return static_cast<int64_t>(std::clamp(v, 0.0, static_cast<double>(size)));
  };
  return {clamped(x - reach_x, width), clamped(y - reach_y, height),
          clamped(x + reach_x + 2, width), clamped(y + reach_y + 2, height)};
}

// Points of a layer's plane that a row of pixels shows.
class PlaneRow {
 public:
  PlaneRow(const Layer& layer, FrameOfPair frame, int64_t width)
      : layer_(layer),
        frame_(frame),
        inverse_(to_float(layer.motion.inverse())),
        x(width),
        y(width) {}

  void fill(int64_t row) {
    const auto py = static_cast<float>(row);
    const auto width = static_cast<int64_t>(x.size());
    if (frame_ == FrameOfPair::kSecond) {
      for (int64_t i = 0; i < width; ++i) {
        const auto px = static_cast<float>(i);
        x[i] = inverse_.x(px, py), y[i] = inverse_.y(px, py);
      }
      return;
    }
    if (layer_.deformation) {
      layer_.deformation->x.row(row, x), layer_.deformation->y.row(row, y);
    } else {
      std::fill(x.begin(), x.end(), 0.0f), std::fill(y.begin(), y.end(), 0.0f);
    }
    for (int64_t i = 0; i < width; ++i) x[i] += static_cast<float>(i), y[i] += py;
  }

 private:
  const Layer& layer_;
  FrameOfPair frame_;
  AffineF inverse_;

 public:
  std::vector<float> x, y;
};

void render_layer(const Layer& layer, uint8_t number, FrameOfPair frame, Rendering& to) {
  const Box box = box_of(layer, frame, to.height, to.width);
  const int level = layer.texture->level_for(std::hypot(layer.to_texture.xx, layer.to_texture.yx));
  const TextureLevel& texture = layer.texture->level(level);
  // Texels of a level are 2^level wide, and centres are at whole numbers in both.
  const double share = std::pow(0.5, level), centre = 0.5 * share - 0.5;
  const AffineF texel =
      to_float(Affine{share, 0, 0, share, centre, centre}.after(layer.to_texture));
  const AffineF motion = to_float(layer.motion);
  const bool first = frame == FrameOfPair::kFirst;
  PlaneRow plane(layer, frame, to.width);
  for (int64_t row = box.top; row < box.bottom; ++row) {
    plane.fill(row);
    for (int64_t i = box.left; i < box.right; ++i) {
      const float x = plane.x[i], y = plane.y[i];
      const float shape = layer.shape ? layer.shape->opacity(x, y) : 1.0f;
      if (shape <= 0.0f) continue;
      const Colour colour = texture.at(texel.x(x, y), texel.y(x, y));
      const float opacity = shape * colour[3] / 255.0f;
      if (opacity <= 0.0f) continue;
      const int64_t pixel = row * to.width + i;
      float* under = to.colours.data() + 3 * pixel;
      for (int c = 0; c < 3; ++c) {
        const float over = shape * layer.gain[c] * colour[c] + opacity * layer.offset[c];
        under[c] = over + (1.0f - opacity) * under[c];
      }
      if (opacity < 0.5f) continue;
      to.front[pixel] = number;
      const auto px = static_cast<float>(i), py = static_cast<float>(row);
      to.motion[2 * pixel] = first ? motion.x(x, y) - px : px - x;
      to.motion[2 * pixel + 1] = first ? motion.y(x, y) - py : py - y;
    }
  }
}

}  // namespace

Rendering render(const std::vector<Layer>& layers, FrameOfPair frame, int64_t height,
                 int64_t width) {
  const size_t pixels = height * width;
  Rendering to{height, width, std::vector<float>(3 * pixels), std::vector<uint8_t>(pixels),
               std::vector<float>(2 * pixels)};
  for (size_t i = 0; i < layers.size(); ++i) {
    render_layer(layers[i], static_cast<uint8_t>(i), frame, to);
  }
  return to;
}

}  // namespace perceiver
