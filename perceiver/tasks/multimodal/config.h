// The settings of the multimodal autoencoder; the defaults are the released model's.
#pragma once

#include "perceiver/modalities/video.h"
#include "perceiver/model/config.h"

namespace perceiver {

// How many outputs of an example are decoded in training; the label is one more.
struct TrainQueries {
  int64_t audio = 512, image = 512;
};

struct MultimodalConfig {
  int64_t num_frames = 16, image_size = 224;
  VideoPatch patch = {.frames = 1, .height = 4, .width = 4};
  int64_t samples_per_frame = 1920;  // 48 kHz at 25 frames a second
  int64_t samples_per_patch = 16;
  int64_t num_image_bands = 32;  // as released; the paper's Tab. 6 counts 64
  int64_t num_audio_bands = 192;
  std::vector<int64_t> max_resolution = {};  // of the image's features; default: the patches' grid
  int64_t num_classes = 700;
  int64_t label_query_channels = 1024;
  int64_t output_channels = 512;  // E, before the heads
  TrainQueries train_queries = {};
  EncoderConfig encoder = {
      .num_latents = 784, .latent_channels = 512, .num_blocks = 1, .self_attends_per_block = 8};
  DecoderConfig decoder = {.cross_attend = {.query_residual = false}};
  int64_t decode_slice = 16384;  // queries decoded at once, outside training
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, TrainQueries& c) {
  visit("audio", c.audio, at_least(1));
  visit("image", c.image, at_least(1));
}

template <typename Visitor>
void fields(Visitor& visit, MultimodalConfig& c) {
  visit("num_frames", c.num_frames, at_least(1));
  visit("image_size", c.image_size, at_least(1));
  visit("patch", c.patch);
  visit("samples_per_frame", c.samples_per_frame, at_least(1));
  visit("samples_per_patch", c.samples_per_patch, at_least(1));
  visit("num_image_bands", c.num_image_bands, at_least(1));
  visit("num_audio_bands", c.num_audio_bands, at_least(1));
  visit("max_resolution", c.max_resolution, at_least(1));
  visit("num_classes", c.num_classes, at_least(1));
  visit("label_query_channels", c.label_query_channels, at_least(1));
  visit("output_channels", c.output_channels, at_least(1));
  visit("train_queries", c.train_queries);
  visit("encoder", c.encoder);
  visit("decoder", c.decoder);
  visit("decode_slice", c.decode_slice, at_least(1));
  visit("semantics", c.semantics);
}

}  // namespace perceiver
