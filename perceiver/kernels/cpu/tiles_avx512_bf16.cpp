#include "perceiver/kernels/cpu/tiles_impl.h"

namespace perceiver {
const Tiles<Bf16>& tiles_avx512_bf16() {
  static constexpr Tiles<Bf16> kTiles = tiles<Bf16>("avx512_bf16");
  return kTiles;
}
}  // namespace perceiver
