#include "perceiver/kernels/cpu/tiles_impl.h"

namespace perceiver {
const Tiles<float>& tiles_any() {
  static constexpr Tiles<float> kTiles = tiles<float>("any");
  return kTiles;
}
}  // namespace perceiver
