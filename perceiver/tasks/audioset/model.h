// AudioSet classification (paper, App. C): a clip of video with its sound in, class logits out.
#pragma once

#include "perceiver/modalities/audio.h"
#include "perceiver/modalities/video.h"
#include "perceiver/model/class_decoder.h"
#include "perceiver/model/multimodal.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/recorded.h"

namespace perceiver {

struct AudioSetConfig {
  bool video = true;
  int64_t num_frames = 32, image_size = 224;
  VideoPatch patch = {.frames = 2, .height = 8, .width = 8};
  int64_t num_video_bands = 16;  // not in the paper: the only number that gives its 487 channels
  int64_t num_samples = 61'440;  // 48 kHz at 25 frames a second
  AudioInput audio = AudioInput::kRaw;
  int64_t samples_per_patch = 128;
  MelConfig mel = {};
  int64_t energies_per_element = 1;
  int64_t num_audio_bands = 64;
  int64_t num_classes = 527;
  bool several_labels = true;
  DecodeBy decode_by = DecodeBy::kQuery;
  int64_t query_channels = 1024;
  EncoderConfig encoder = {
      .num_latents = 512, .latent_channels = 512, .num_blocks = 1, .self_attends_per_block = 12};
  DecoderConfig decoder = {};
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, AudioSetConfig& c) {
  visit({"video", "Whether pictures are seen beside the sound; else a clip is its sound alone"},
        c.video);
  visit({"num_frames", "Frames of a clip, 25 a second, with pictures or without"}, c.num_frames,
        at_least(1));
  visit({"image_size", "Pixels of a side of a frame"}, c.image_size, at_least(1));
  visit({"patch", "Pixels that make one input element"}, c.patch);
  visit({"num_video_bands", "Frequencies of the video's Fourier features"}, c.num_video_bands,
        at_least(1));
  visit({"num_samples",
         "Samples of sound of a clip; its rate is as many as are in the 25 frames of a second"},
        c.num_samples, at_least(1));
  visit({"audio",
         "What an element of sound is: a patch of samples, or an energy of a mel spectrogram"},
        c.audio);
  visit({"samples_per_patch", "audio raw: samples that make one input element"},
        c.samples_per_patch, at_least(1));
  visit({"mel", "audio mel: the spectrogram"}, c.mel);
  visit({"energies_per_element",
         "audio mel: neighbouring energies of a window that make one input element"},
        c.energies_per_element, at_least(1));
  visit({"num_audio_bands", "Frequencies of the sound's Fourier features"}, c.num_audio_bands,
        at_least(1));
  visit({"num_classes", "Classes the model tells apart"}, c.num_classes, at_least(1));
  visit({"several_labels",
         "Whether a clip may have several classes, each by itself (sigmoid), or has one (softmax)"},
        c.several_labels);
  visit({"decode_by", "How classes are read off the latents: by a query, or as their average"},
        c.decode_by);
  visit({"query_channels", "Channels of the query (Q)"}, c.query_channels, at_least(1));
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit(kSemanticsKey, c.semantics);
}

SoundElements sound_of(const AudioSetConfig& config);

class AudioSetImpl : public torch::nn::Module {
 public:
  explicit AudioSetImpl(const AudioSetConfig& config);

  // video [B, T, 3, H, W] in [0, 1] (undefined where the model sees none), samples [B, S] in
  // [-1, 1] -> inputs [B, M, C], in the video's dtype, or the weights'. Samples stay float32
  // whatever the model's dtype: a spectrogram is made of them first.
  Tensor input_array(const Tensor& video, const Tensor& samples) {
    return input_array_of(video, sound_.of(samples));
  }

  Tensor encode(const Tensor& video, const Tensor& samples) {  // -> latents [B, N, D]
    return encoder_(input_array(video, samples));
  }
  // [B, N, D] -> logits [B, classes]
  Tensor decode(const Tensor& latents) { return class_decoder_(latents); }
  Tensor forward(const Tensor& video, const Tensor& samples) {
    return classify(video, sound_.of(samples));
  }
  // The same of sound_of().of(): a spectrogram's filters come from the CPU, which cannot be
  // recorded.
  Tensor classify(const Tensor& video, const Tensor& sounds);

  ModelSummary summary() const;

  int64_t num_sounds() const { return sound_.count(); }  // first in the input array
  // {T, H, W}, after them; where the model sees no video there are none
  const std::vector<int64_t>& patches() const { return patches_; }

 private:
  Tensor input_array_of(const Tensor& video, const Tensor& sounds);

  AudioSetConfig config_;
  std::vector<int64_t> video_, patches_;  // {T, H, W}, and in patches
  SoundElements sound_;
  GridFeatures video_position_, audio_position_;
  ModalityPadding padding_{nullptr};
  Encoder encoder_{nullptr};
  ClassDecoder class_decoder_;
  RecordedForward recorded_;
};
TORCH_MODULE(AudioSet);

}  // namespace perceiver
