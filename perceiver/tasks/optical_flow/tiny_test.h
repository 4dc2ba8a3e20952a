#pragma once

#include "perceiver/tasks/optical_flow/model.h"

namespace perceiver {

inline OpticalFlowConfig tiny_flow(FlowPatch patch = FlowPatch::k3x3, bool concat_frames = true) {
  OpticalFlowConfig c;
  c.height = 16;
  c.width = 20;
  c.patch = patch;
  c.concat_frames = concat_frames;
  c.num_bands = 4;
  c.patch_channels = 8;
  c.encoder = {.num_latents = 8,
               .latent_channels = 16,
               .num_blocks = 1,
               .self_attends_per_block = 2,
               .self_attend = {.num_heads = 2}};
  return c;
}

}  // namespace perceiver
