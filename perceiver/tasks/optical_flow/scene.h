// Random scenes: which layers there are, where, with which textures, and how they move.
#pragma once

#include "perceiver/tasks/optical_flow/generator_config.h"
#include "perceiver/tasks/optical_flow/layer.h"
#include "perceiver/tasks/optical_flow/texture_pool.h"

namespace perceiver {

struct SceneTextures {
  explicit SceneTextures(const GeneratorConfig& config)
      : pictures(TexturePool::pictures(config.backgrounds)),
        cutouts(TexturePool::cutouts(config.cutouts)),
        procedural(TexturePool::procedural(config.textures)) {}

  TexturePool pictures, cutouts, procedural;
};

// A background, then things in front of it, the nearest last; for frames of height x width.
class Scene {
 public:
  Scene(const GeneratorConfig& config, const SceneTextures& textures, int64_t height, int64_t width)
      : config_(config), textures_(textures), height_(height), width_(width) {}

  std::vector<Layer> draw(Rng& rng) const;

 private:
  struct Disc {  // of the plane
    double x, y, radius;
  };
  Layer background(double speed, Rng& rng) const;
  Layer thing(double speed, Rng& rng) const;
  void fill(Layer& layer, Rng& rng) const;  // with any texture at any scale
  Affine motion(const Disc& of, double speed, Rng& rng) const;
  void deform(Layer& layer, double extent, double speed, Rng& rng) const;

  const GeneratorConfig& config_;
  const SceneTextures& textures_;
  int64_t height_, width_;
};

}  // namespace perceiver
