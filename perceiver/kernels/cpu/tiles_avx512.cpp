#include "perceiver/kernels/cpu/tiles_impl.h"

namespace perceiver {
const Tiles<float>& tiles_avx512() {
  static constexpr Tiles<float> kTiles = tiles<float>("avx512");
  return kTiles;
}
}  // namespace perceiver
