#pragma once

#include "perceiver/nn/attention.h"

namespace perceiver {

// Sec. 3.1, encode and process. The defaults are the ImageNet models'.
struct EncoderConfig {
  int64_t num_latents = 512;
  int64_t latent_channels = 1024;
  int64_t num_blocks = 8;
  int64_t self_attends_per_block = 6;
  int64_t num_cross_attends = 1;
  AttendConfig cross_attend = {.num_heads = 1};
  AttendConfig self_attend = {.num_heads = 8};
};

// Sec. 3.2, decode.
struct DecoderConfig {
  AttendConfig cross_attend = {.num_heads = 1};
};

inline constexpr ConfigKey kEncoderKey = {"encoder", "From the inputs to the latents"};
inline constexpr ConfigKey kDecoderKey = {"decoder", "From the latents to the outputs"};

template <typename Visitor>
void fields(Visitor& visit, EncoderConfig& c) {
  visit({"num_latents", "Rows of the latent array (N)"}, c.num_latents, at_least(1));
  visit({"latent_channels", "Channels of a latent (D)"}, c.latent_channels, at_least(1));
  visit({"num_blocks", "Times the block of self-attends is applied, with the same weights"},
        c.num_blocks, at_least(1));
  visit({"self_attends_per_block", "Self-attends in a block, each with weights of its own"},
        c.self_attends_per_block, at_least(1));
  visit({"num_cross_attends",
         "Times the latents look at the inputs; the original Perceiver looks again before each "
         "block: 8"},
        c.num_cross_attends, at_least(1));
  visit({"cross_attend", "How the latents look at the inputs"}, c.cross_attend);
  visit({"self_attend", "How the latents look at each other"}, c.self_attend);
}

template <typename Visitor>
void fields(Visitor& visit, DecoderConfig& c) {
  visit({"cross_attend", "How the queries look at the latents"}, c.cross_attend);
}

}  // namespace perceiver
