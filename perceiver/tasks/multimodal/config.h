// The settings of the multimodal autoencoder; the defaults are the released model's.
#pragma once

#include "perceiver/modalities/audio.h"
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
  AudioInput audio = AudioInput::kRaw;
  MelConfig mel = {};
  int64_t energies_per_element = 1;
  int64_t num_image_bands = 32;  // as released; the paper's Tab. 6 counts 64
  int64_t num_audio_bands = 192;
  std::vector<int64_t> max_resolution = {};
  int64_t num_classes = 700;
  int64_t label_query_channels = 1024;
  int64_t output_channels = 512;
  TrainQueries train_queries = {};
  EncoderConfig encoder = {
      .num_latents = 784, .latent_channels = 512, .num_blocks = 1, .self_attends_per_block = 8};
  DecoderConfig decoder = {.cross_attend = {.query_residual = false}};
  int64_t decode_slice = 16384;
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, TrainQueries& c) {
  visit({"audio", "Patches of sound decoded of an example in training"}, c.audio, at_least(1));
  visit({"image", "Pixels decoded of an example in training"}, c.image, at_least(1));
}

template <typename Visitor>
void fields(Visitor& visit, MultimodalConfig& c) {
  visit({"num_frames", "Frames of a clip"}, c.num_frames, at_least(1));
  visit({"image_size", "Pixels of a side of a frame"}, c.image_size, at_least(1));
  visit({"patch", "Pixels that make one input element"}, c.patch);
  visit({"samples_per_frame", "Samples of sound to a frame"}, c.samples_per_frame, at_least(1));
  visit({"samples_per_patch",
         "Samples of sound that make one output element, and one input element of audio raw"},
        c.samples_per_patch, at_least(1));
  visit({"audio",
         "What is heard of the sound, which is put out as samples in either case: patches of "
         "samples, as released, or energies of a mel spectrogram"},
        c.audio);
  visit({"mel", "audio mel: the spectrogram"}, c.mel);
  visit({"energies_per_element",
         "audio mel: neighbouring energies of a window that make one input element"},
        c.energies_per_element, at_least(1));
  visit({"num_image_bands", "Frequencies of the video's Fourier features"}, c.num_image_bands,
        at_least(1));
  visit({"num_audio_bands", "Frequencies of the sound's Fourier features"}, c.num_audio_bands,
        at_least(1));
  visit({"max_resolution",
         "Resolution the video's Fourier features are made for; empty: the grid of patches"},
        c.max_resolution, at_least(1));
  visit({"num_classes", "Classes the model tells apart"}, c.num_classes, at_least(1));
  visit({"label_query_channels", "Channels of the query for the class"}, c.label_query_channels,
        at_least(1));
  visit({"output_channels", "Channels of an output element before the heads (E)"},
        c.output_channels, at_least(1));
  visit({"train_queries",
         "Outputs of an example that are decoded in training; the class is one more"},
        c.train_queries);
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit({"decode_slice", "Queries decoded at once outside training; fewer need less memory"},
        c.decode_slice, at_least(1));
  visit(kSemanticsKey, c.semantics);
}

SoundElements sound_of(const MultimodalConfig& config);

}  // namespace perceiver
