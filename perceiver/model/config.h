#pragma once

#include "perceiver/nn/attention.h"

namespace perceiver {

// Sec. 3.1, encode and process. The defaults are the ImageNet models'.
struct EncoderConfig {
  int64_t num_latents = 512;       // N
  int64_t latent_channels = 1024;  // D
  int64_t num_blocks = 8;          // times the block below is applied, with shared weights
  int64_t self_attends_per_block = 6;
  int64_t num_cross_attends = 1;  // the original Perceiver looks again before each block: 8
  AttendConfig cross_attend = {.num_heads = 1};
  AttendConfig self_attend = {.num_heads = 8};
};

// Sec. 3.2, decode.
struct DecoderConfig {
  AttendConfig cross_attend = {.num_heads = 1};
};

template <typename Visitor>
void fields(Visitor& visit, EncoderConfig& c) {
  visit("num_latents", c.num_latents, at_least(1));
  visit("latent_channels", c.latent_channels, at_least(1));
  visit("num_blocks", c.num_blocks, at_least(1));
  visit("self_attends_per_block", c.self_attends_per_block, at_least(1));
  visit("num_cross_attends", c.num_cross_attends, at_least(1));
  visit("cross_attend", c.cross_attend);
  visit("self_attend", c.self_attend);
}

template <typename Visitor>
void fields(Visitor& visit, DecoderConfig& c) {
  visit("cross_attend", c.cross_attend);
}

}  // namespace perceiver
