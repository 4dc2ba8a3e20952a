// Frames of any size as latents, an array for each tile, and any pixels' flow asked of them. The
// queries are input features (paper, Sec. 4.2), so the frames stay at hand.
#pragma once

#include "perceiver/tasks/optical_flow/tiling.h"

namespace perceiver {

// frames uint8 [2, 3, H, W] -> latents [T, N, D], float, on the CPU: one array for each tile that
// tiled_flow() would take.
Tensor encode_tiles(OpticalFlowImpl& model, const Tensor& frames);

// Pixels by flat index [P] in the frame -> their flow [P, 2], in pixels whatever the model's
// semantics, on the CPU: as tiled_flow() has it. Only they are decoded, in each tile they lie in.
Tensor flow_at(OpticalFlowImpl& model, const Tensor& latents, const Tensor& frames,
               const Tensor& pixels);

}  // namespace perceiver
