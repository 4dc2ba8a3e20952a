// Pairs of frames with exact flow, made rather than filmed, after AutoFlow (Sun et al., 2021),
// which the paper trains on: a background and things before it, each with a texture and a motion of
// its own.
#pragma once

#include "perceiver/tasks/optical_flow/pair.h"
#include "perceiver/tasks/optical_flow/scene.h"

namespace perceiver {

struct GeneratedPair {
  FlowPair pair;  // the flow is known everywhere, also where it leads behind things or outside
  Tensor hidden;  // bool [H, W]: what cannot be seen in the second frame
};

class FlowGenerator {
 public:
  FlowGenerator(const GeneratorConfig& config, int64_t height, int64_t width);

  // Depends on nothing but the config and `rng`. May be called by several threads at once.
  GeneratedPair pair(Rng& rng) const;

 private:
  // Fog, light, blur and noise.
  void film(Rendering& first, Rendering& second, Rng& rng) const;

  GeneratorConfig config_;
  int64_t height_, width_;
  SceneTextures textures_;
};

// What two renderings of the same layers say of the flow between them.
GeneratedPair to_pair(const Rendering& first, const Rendering& second);

}  // namespace perceiver
