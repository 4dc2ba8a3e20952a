// Textures that need no files: noise, stripes, checks and overlapping shapes, with structure at
// every scale.
#pragma once

#include "perceiver/core/rng.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

Tensor procedural_texture(int64_t size, Rng& rng);  // -> uint8 [4, size, size], opaque

}  // namespace perceiver
