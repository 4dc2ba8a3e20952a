// Two frames with the true flow from the first to the second, and the same pair backwards.
#pragma once

#include <span>

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// Which set a pair is of, where that decides how it is measured (measures.h).
enum class FlowSet { kOther, kSintelClean, kSintelFinal, kKitti };

struct FlowPair {
  Tensor frames;  // uint8 [2, 3, H, W]
  Tensor flow;    // float [2, H, W], in pixels: horizontal, vertical
  Tensor valid;   // bool [H, W]: where the flow is known
};

// The two frames of a pair, of any size but of one -> uint8 [2, 3, H, W]
Tensor read_frames(std::span<const File> files);

// From the second frame to the first, as the paper trains on too (App. H): the mean of the flows
// that end at a pixel, turned round; unknown where none does. Flows of pixels that are known to be
// `hidden` in the second frame, bool [H, W], end at nothing one can see there and do not count.
FlowPair reversed(const FlowPair& pair, const Tensor& hidden = {});

}  // namespace perceiver
