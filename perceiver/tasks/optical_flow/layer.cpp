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

// What a few pixels of a row, from (left, top) on, show of a layer.
struct LayerBlock {
  template <typename Number>
  using Array = TextureBlock::Array<Number>;

  LayerBlock() { std::ranges::fill(shape, 1.0f); }

  int64_t left, top;
  Array<float> x, y;     // points of the layer's plane
  Array<float> shape;    // how much of a pixel lies inside of the outline
  Array<float> opacity;  // how much of what is behind the layer covers
  TextureBlock texture;

  int64_t count() const { return texture.count; }
};

void place(const Layer& layer, FrameOfPair frame, LayerBlock& block) {
  const int64_t count = block.count();
  const auto left = static_cast<float>(block.left), py = static_cast<float>(block.top);
  const auto column = [left](int64_t i) {
    return left + static_cast<float>(static_cast<int32_t>(i));
  };
  if (frame == FrameOfPair::kSecond) {
    const AffineF inverse = to_float(layer.motion.inverse());
    for (int64_t i = 0; i < count; ++i) {
      block.x[i] = inverse.x(column(i), py), block.y[i] = inverse.y(column(i), py);
    }
    return;
  }
  const std::span x(block.x, count), y(block.y, count);
  if (layer.deformation) {
    layer.deformation->x.row(block.left, block.top, x);
    layer.deformation->y.row(block.left, block.top, y);
  } else {
    std::ranges::fill(x, 0.0f), std::ranges::fill(y, 0.0f);
  }
  for (int64_t i = 0; i < count; ++i) block.x[i] += column(i), block.y[i] += py;
}

// -> whether the outline reaches any of the pixels
bool cut(const StarShape& outline, LayerBlock& block) {
  const int64_t count = block.count();
  for (int64_t i = 0; i < count; ++i) block.shape[i] = outline.opacity(block.x[i], block.y[i]);
  return std::any_of(block.shape, block.shape + count, [](float part) { return part > 0.0f; });
}

void read(const TextureLevel& texture, const AffineF& to_texels, LayerBlock& block) {
  for (int64_t i = 0; i < block.count(); ++i) {
    block.texture.x[i] = to_texels.x(block.x[i], block.y[i]);
    block.texture.y[i] = to_texels.y(block.x[i], block.y[i]);
  }
  texture.read(block.texture);
}

void blend(const Layer& layer, LayerBlock& block, Rendering& to) {
  const int64_t count = block.count();
  for (int64_t i = 0; i < count; ++i) {
    block.opacity[i] = block.shape[i] * block.texture.colours[3][i] / 255.0f;
  }
  for (int c = 0; c < 3; ++c) {
    const float* colour = block.texture.colours[c];
    float* under = to.colours.data() + (c * to.height + block.top) * to.width + block.left;
    const float gain = layer.gain[c], offset = layer.offset[c];
    for (int64_t i = 0; i < count; ++i) {
      const float over = block.shape[i] * gain * colour[i] + block.opacity[i] * offset;
      under[i] = over + (1.0f - block.opacity[i]) * under[i];
    }
  }
}

// What is mostly covered moves as the layer does.
void cover(const AffineF& motion, uint8_t number, FrameOfPair frame, const LayerBlock& block,
           Rendering& to) {
  const int64_t first = block.top * to.width + block.left, count = block.count();
  uint8_t* front = to.front.data() + first;
  float* u = to.motion.data() + first;
  float* v = u + to.height * to.width;
  const float sign = frame == FrameOfPair::kFirst ? 1.0f : -1.0f;
  const AffineF moved = frame == FrameOfPair::kFirst ? motion : AffineF{};
  const auto left = static_cast<float>(block.left), py = static_cast<float>(block.top);
  for (int64_t i = 0; i < count; ++i) {
    const float px = left + static_cast<float>(static_cast<int32_t>(i));
    const float new_u = sign * (moved.x(block.x[i], block.y[i]) - px);
    const float new_v = sign * (moved.y(block.x[i], block.y[i]) - py);
    u[i] = block.opacity[i] >= 0.5f ? new_u : u[i];
    v[i] = block.opacity[i] >= 0.5f ? new_v : v[i];
  }
  for (int64_t i = 0; i < count; ++i) front[i] = block.opacity[i] >= 0.5f ? number : front[i];
}

void render_layer(const Layer& layer, uint8_t number, FrameOfPair frame, Rendering& to) {
  const Box box = box_of(layer, frame, to.height, to.width);
  const int level = layer.texture->level_for(std::hypot(layer.to_texture.xx, layer.to_texture.yx));
  // Texels of a level are 2^level wide, and centres are at whole numbers in both.
  const double share = std::pow(0.5, level), centre = 0.5 * share - 0.5;
  const AffineF to_texels =
      to_float(Affine{share, 0, 0, share, centre, centre}.after(layer.to_texture));
  const AffineF motion = to_float(layer.motion);
  const std::optional<StarShape> outline = layer.shape;  // a copy: no block can be a part of it
  LayerBlock block;
  for (block.top = box.top; block.top < box.bottom; ++block.top) {
    for (block.left = box.left; block.left < box.right; block.left += TextureBlock::kPixels) {
      block.texture.count = std::min(box.right - block.left, TextureBlock::kPixels);
      place(layer, frame, block);
      if (outline && !cut(*outline, block)) continue;
      read(layer.texture->level(level), to_texels, block);
      blend(layer, block, to);
      cover(motion, number, frame, block, to);
    }
  }
}

}  // namespace

void Rendering::resize(int64_t new_height, int64_t new_width) {
  height = new_height, width = new_width;
  colours.resize(3 * height * width);
  front.resize(height * width);
  motion.resize(2 * height * width);
}

void render(const std::vector<Layer>& layers, FrameOfPair frame, Rendering& to) {
  for (size_t i = 0; i < layers.size(); ++i) {
    render_layer(layers[i], static_cast<uint8_t>(i), frame, to);
  }
}

}  // namespace perceiver
