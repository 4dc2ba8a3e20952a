#pragma once

#include "perceiver/tasks/language/model.h"

namespace perceiver {

inline LanguageConfig tiny_language(int64_t num_inputs) {
  LanguageConfig c;
  c.num_inputs = num_inputs;
  c.input_channels = 16;
  c.encoder.num_latents = 5;
  c.encoder.latent_channels = 24;
  c.encoder.self_attends_per_block = 2;
  c.encoder.cross_attend.qk_channels = c.encoder.self_attend.qk_channels = 8;
  c.encoder.cross_attend.v_channels = c.encoder.self_attend.v_channels = 24;
  c.decoder.cross_attend.qk_channels = 8;
  c.decoder.cross_attend.v_channels = 16;
  return c;
}

}  // namespace perceiver
