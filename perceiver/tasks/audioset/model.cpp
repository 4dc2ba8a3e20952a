#include "perceiver/tasks/audioset/model.h"

#include <ATen/ATen.h>

namespace perceiver {
namespace {

constexpr int64_t kMinPadding = 4;
constexpr int64_t kColours = 3;

}  // namespace

SoundElements sound_of(const AudioSetConfig& c) {
  return {.audio = c.audio,
          .num_samples = c.num_samples,
          .samples_per_patch = c.samples_per_patch,
          .mel = c.mel,
          .energies_per_element = c.energies_per_element};
}

AudioSetImpl::AudioSetImpl(const AudioSetConfig& config)
    : config_(config),
      video_{config.num_frames, config.image_size, config.image_size},
      patches_(config.video ? patch_grid(video_, config.patch) : std::vector<int64_t>{1, 1, 1}),
      sound_(sound_of(config)),
      video_position_(patches_, config.num_video_bands),
      audio_position_({sound_.resolution()}, config.num_audio_bands) {
  sound_.check();
  const int64_t video_values = config.patch.pixels() * kColours;
  std::map<std::string, int64_t> channels = {
      {"audio", sound_.values() + audio_position_.channels()}};
  if (config.video) channels["video"] = video_values + video_position_.channels();
  padding_ = register_module("padding", ModalityPadding(channels, kMinPadding));
  encoder_ =
      register_module("encoder", Encoder(padding_->channels(), config.encoder, config.semantics));
  class_decoder_ = ClassDecoder(*this, {.by = config.decode_by,
                                        .latent_channels = config.encoder.latent_channels,
                                        .query_channels = config.query_channels,
                                        .num_classes = config.num_classes,
                                        .decoder = config.decoder,
                                        .semantics = config.semantics});
}

Tensor AudioSetImpl::input_array_of(const Tensor& video, const Tensor& sounds) {
  const auto heard = [&](at::ScalarType dtype) {
    return audio_position_.behind(sounds.to(dtype), {sound_.count()}).materialise();
  };
  if (!config_.video) {
    return pack(padding_(Modalities{{"audio", heard(parameters().front().scalar_type())}}));
  }
  check_shape(video, {kAny, video_[0], kColours, video_[1], video_[2]}, "video");
  const Tensor pictures = video_to_patches(video, config_.patch);
  return pack(padding_(Modalities{
      {"audio", heard(pictures.scalar_type())},
      {"video", video_position_.behind(pictures, patches_).materialise()},
  }));
}

Tensor AudioSetImpl::classify(const Tensor& video, const Tensor& sounds) {
  std::vector<Tensor> inputs = {sounds};
  if (config_.video) inputs.push_back(video);
  return recorded_(*this, inputs, [this](const std::vector<Tensor>& x) {
    return decode(encoder_(input_array_of(config_.video ? x[1] : Tensor(), x[0])));
  });
}

ModelSummary AudioSetImpl::summary() const {
  const int64_t m = sound_.count() + (config_.video ? c10::multiply_integers(patches_) : 0);
  ModelSummary s{.inputs = {m, padding_->channels()},
                 .latents = encoder_->latent_size(),
                 .queries = {},
                 .outputs = {1, config_.num_classes}};
  if (config_.audio == AudioInput::kMel) {
    s.add("input.", {{.name = "mel_filterbank", .flops = sound_.flops()}});
  }
  s.add("input.", {{.name = "padding", .parameters = num_parameters(*padding_)}});
  s.add("encoder.", encoder_->parts(m));
  class_decoder_.add_to(s);
  return s;
}

}  // namespace perceiver
