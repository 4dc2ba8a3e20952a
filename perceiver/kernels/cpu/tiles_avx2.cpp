#include "perceiver/kernels/cpu/tiles_impl.h"

namespace perceiver {
const Tiles<float>& tiles_avx2() {
  static constexpr Tiles<float> kTiles = tiles<float>("avx2");
  return kTiles;
}
}  // namespace perceiver
