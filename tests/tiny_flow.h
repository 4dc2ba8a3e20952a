// A model of flow as small as tests want it.
#pragma once

namespace perceiver {

inline constexpr const char* kTinyFlow = R"(
task = "optical_flow"
[model]
height = 16
width = 20
num_bands = 4
patch_channels = 8
[model.encoder]
num_latents = 8
latent_channels = 16
num_blocks = 1
self_attends_per_block = 1
self_attend.num_heads = 2
)";

}  // namespace perceiver
