#include "perceiver/tasks/optical_flow/scene.h"

#include <algorithm>

namespace perceiver {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;

// Evenly on a logarithmic scale; the two may come in any order.
double log_uniform(double low, double high, Rng& rng) {
  return std::exp(rng.uniform(std::log(low), std::log(high)));
}

Affine rotation(double angle) {
  return {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)};
}

void recolour(Layer& layer, Rng& rng) {
  const double brightness = 16.0 * rng.normal(), contrast = std::exp(0.12 * rng.normal());
  for (int c = 0; c < 3; ++c) {
    layer.gain[c] = static_cast<float>(contrast * std::exp(0.08 * rng.normal()));
    layer.offset[c] = static_cast<float>(brightness + 8.0 * rng.normal() +
                                         128.0 * (1.0 - static_cast<double>(layer.gain[c])));
  }
}

}  // namespace

std::vector<Layer> Scene::draw(Rng& rng) const {
  const auto width = static_cast<double>(width_);
  const double speed = width * log_uniform(config_.slowest, config_.fastest, rng);
  const int64_t most = std::max(config_.most_things, config_.fewest_things);
  const int64_t things = config_.fewest_things + rng.integer(most - config_.fewest_things + 1);
  std::vector<Layer> layers;
  layers.push_back(background(rng.chance(config_.still_share) ? 0.0 : speed, rng));
  for (int64_t i = 0; i < things; ++i) {
    const double own = rng.chance(config_.still_share) ? 0.0 : speed * std::exp(0.5 * rng.normal());
    layers.push_back(thing(own, rng));
    layers.back().motion = layers[0].motion.after(layers.back().motion);  // the camera moves too
  }
  return layers;
}

Layer Scene::background(double speed, Rng& rng) const {
  Layer layer;
  const double x = 0.5 * static_cast<double>(width_), y = 0.5 * static_cast<double>(height_);
  fill(layer, rng);
  layer.motion = motion({x, y, std::hypot(x, y)}, speed, rng);
  deform(layer, static_cast<double>(width_), speed, rng);
  return layer;
}

Layer Scene::thing(double speed, Rng& rng) const {
  Layer layer;
  const auto height = static_cast<double>(height_), width = static_cast<double>(width_);
  const double radius = height * log_uniform(config_.smallest_thing, config_.largest_thing, rng);
  layer.x = rng.uniform(-0.1, 1.1) * width, layer.y = rng.uniform(-0.1, 1.1) * height;
  if (textures_.cutouts.size() > 0 && rng.chance(config_.cutout_share)) {
    layer.texture = textures_.cutouts.any(rng);
    const double w = static_cast<double>(layer.texture->width());
    const double h = static_cast<double>(layer.texture->height());
    const double texels = std::sqrt(w * h) / (2.0 * radius);  // a pixel
    const Affine turned = rotation(0.4 * rng.normal());
    const double side = rng.chance(0.5) ? texels : -texels;  // or mirrored
    layer.to_texture = translation(0.5 * w, 0.5 * h)
                           .after(Affine{side, 0, 0, texels})
                           .after(turned)
                           .after(translation(-layer.x, -layer.y));
    layer.reach = 0.5 * std::hypot(w, h) / texels + 1.0;
    recolour(layer, rng);
  } else {
    const double edge = rng.chance(0.2) ? rng.uniform(1.0, 4.0) : 1.0;
    layer.shape.emplace(StarShape::Place{layer.x, layer.y, radius, edge}, /*longest=*/4.0, rng);
    layer.reach = layer.shape->reach();
    fill(layer, rng);
  }
  layer.motion = motion({layer.x, layer.y, layer.reach}, speed, rng);
  deform(layer, 2.0 * radius, speed, rng);
  return layer;
}

void Scene::fill(Layer& layer, Rng& rng) const {
  const bool own = textures_.pictures.size() == 0 || rng.chance(config_.procedural_share);
  layer.texture = (own ? textures_.procedural : textures_.pictures).any(rng);
  const double texels = log_uniform(1.0 / config_.zoom_in, config_.zoom_out, rng);
  // The frame stays inside of the texture where it fits: mirrored edges look made.
  const auto place = [&](int64_t texture, int64_t frame) {
    const auto all = static_cast<double>(texture), shown = texels * static_cast<double>(frame);
    return 0.5 * all + rng.uniform(-0.5, 0.5) * std::max(all - shown, 0.2 * all);
  };
  const double x = place(layer.texture->width(), width_);
  const double y = place(layer.texture->height(), height_);
  // Photographs mostly stand upright.
  const Affine turned = rotation(own ? rng.uniform(0.0, kTurn) : 0.15 * rng.normal());
  const double side = rng.chance(0.5) ? texels : -texels;
  layer.to_texture = translation(x, y)
                         .after(Affine{side, 0, 0, texels})
                         .after(turned)
                         .after(translation(-0.5 * static_cast<double>(width_),
                                            -0.5 * static_cast<double>(height_)));
  recolour(layer, rng);
}

Affine Scene::motion(const Disc& of, double speed, Rng& rng) const {
  if (speed == 0.0) return {};
  const double largest = config_.largest * static_cast<double>(width_);
  const double length = std::min(-speed * std::log(1.0 - rng.uniform()), largest);
  const double direction = rng.uniform(0.0, kTurn);
  // As much as moves the rim by a share of the speed; never so much that a thing turns over.
  const double share = config_.turn * std::min(speed, largest) / of.radius;
  const auto part = [&](double most) { return std::clamp(share * rng.normal(), -most, most); };
  const double angle = part(0.5), growth = part(0.3), shear = 0.5 * part(0.3);
  const double grown = std::exp(growth);
  const Affine linear = rotation(angle).after(Affine{grown, shear, shear, grown});
  return translation(length * std::cos(direction), length * std::sin(direction))
      .after(about(of.x, of.y, linear));
}

void Scene::deform(Layer& layer, double extent, double speed, Rng& rng) const {
  const double cell = std::max(extent / rng.uniform(1.5, 6.0), 8.0);
  // Steeper than this and a plane could fold.
  const double scale = std::min(config_.deformation * speed * 2.0 * rng.uniform(), 0.2 * cell);
  if (scale == 0.0 || !rng.chance(config_.deformed_share)) return;
  SmoothField x(height_, width_, cell, scale, rng);
  layer.deformation.emplace(
      Layer::Deformation{std::move(x), SmoothField(height_, width_, cell, scale, rng), scale});
}

}  // namespace perceiver
