#include "perceiver/tasks/audioset/model.h"

#include <ATen/ATen.h>

#include <cmath>

namespace perceiver {
namespace {

constexpr int64_t kMinPadding = 4;
constexpr int64_t kColours = 3;

int64_t num_sound_elements(const AudioSetConfig& c) {
  if (c.audio == AudioInput::kRaw) return num_sample_patches(c.num_samples, c.samples_per_patch);
  if (c.mel.num_energies % c.energies_per_element != 0) {
    fail("energies_per_element ({}) must divide mel.num_energies ({})", c.energies_per_element,
         c.mel.num_energies);
  }
  return num_mel_windows(c.num_samples, c.mel) * (c.mel.num_energies / c.energies_per_element);
}

// Of raw sound up to the samples', though an element is a patch: as in the released model of
// Kinetics. The paper does not say.
int64_t sound_resolution(const AudioSetConfig& c) {
  return c.audio == AudioInput::kRaw ? c.num_samples : num_sound_elements(c);
}

}  // namespace

Tensor sound_elements(const Tensor& samples, const AudioSetConfig& config) {
  check_shape(samples, {kAny, config.num_samples}, "samples");
  if (config.audio == AudioInput::kRaw) {
    return samples_to_patches(samples, config.samples_per_patch);
  }
  // Silence is -1 and a full-scale tone near 1, as wide as the position beside it.
  const Tensor energies = log_mel_spectrogram(samples, config.mel);
  return (1.0 - energies * (2.0 / std::log(config.mel.log_offset)))
      .flatten(1)
      .unflatten(1, {-1, config.energies_per_element});
}

AudioSetImpl::AudioSetImpl(const AudioSetConfig& config)
    : config_(config),
      video_{config.num_frames, config.image_size, config.image_size},
      patches_(config.video ? patch_grid(video_, config.patch) : std::vector<int64_t>{1, 1, 1}),
      num_sound_elements_(num_sound_elements(config)),
      video_position_(patches_, config.num_video_bands),
      audio_position_({sound_resolution(config)}, config.num_audio_bands) {
  const bool raw = config.audio == AudioInput::kRaw;
  if (!raw) mel_filterbank(config.mel);  // fails now if it cannot be
  const int64_t audio_values = raw ? config.samples_per_patch : config.energies_per_element;
  const int64_t video_values = config.patch.pixels() * kColours;
  std::map<std::string, int64_t> channels = {{"audio", audio_values + audio_position_.channels()}};
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
    return audio_position_.behind(sounds.to(dtype), {num_sound_elements_}).materialise();
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
  const int64_t m = num_sound_elements_ + (config_.video ? c10::multiply_integers(patches_) : 0);
  ModelSummary s{.inputs = {m, padding_->channels()},
                 .latents = encoder_->latent_size(),
                 .queries = {},
                 .outputs = {1, config_.num_classes}};
  if (config_.audio == AudioInput::kMel) {
    // The filter bank; a Fourier transform is no product of matrices.
    const int64_t frequencies = config_.mel.window_samples / 2 + 1;
    s.add("input.",
          {{.name = "mel_filterbank",
            .flops = 2 * num_sound_elements_ * config_.energies_per_element * frequencies}});
  }
  s.add("input.", {{.name = "padding", .parameters = num_parameters(*padding_)}});
  s.add("encoder.", encoder_->parts(m));
  class_decoder_.add_to(s);
  return s;
}

}  // namespace perceiver
