#include "perceiver/modalities/audio.h"

#include <ATen/ATen.h>

#include <cmath>

namespace perceiver {
namespace {

double hz_to_mel(double hz) { return 2595.0 * std::log10(1.0 + hz / 700.0); }

Tensor mel_to_hz(const Tensor& mel) { return 700.0 * (at::pow(10.0, mel / 2595.0) - 1.0); }

}  // namespace

int64_t num_sample_patches(int64_t num_samples, int64_t samples_per_patch) {
  if (num_samples % samples_per_patch != 0) {
    fail("samples_per_patch ({}) must divide the number of samples ({})", samples_per_patch,
         num_samples);
  }
  return num_samples / samples_per_patch;
}

Tensor samples_to_patches(const Tensor& samples, int64_t samples_per_patch) {
  check_shape(samples, {kAny, kAny}, "samples");
  return samples.unflatten(
      1, {num_sample_patches(samples.size(1), samples_per_patch), samples_per_patch});
}

Tensor patches_to_samples(const Tensor& patches) { return patches.flatten(1); }

int64_t num_mel_windows(int64_t num_samples, const MelConfig& config) {
  if (num_samples % config.hop_samples != 0) {
    fail("mel.hop_samples ({}) must divide the number of samples ({})", config.hop_samples,
         num_samples);
  }
  return num_samples / config.hop_samples;
}

Tensor mel_filterbank(const MelConfig& config) {
  const double nyquist = config.samples_per_second / 2.0;
  if (config.low_hz >= config.high_hz || config.high_hz > nyquist) {
    fail("mel.high_hz ({}) must be above low_hz ({}) and at most half of samples_per_second ({})",
         config.high_hz, config.low_hz, config.samples_per_second);
  }
  // In double: neighbours must add up to 1 between their peaks.
  const int64_t n = config.num_energies;
  const Tensor corners = mel_to_hz(
      at::linspace(hz_to_mel(config.low_hz), hz_to_mel(config.high_hz), n + 2, at::kDouble));
  const Tensor hz = at::arange(config.window_samples / 2 + 1, at::kDouble) *
                    (static_cast<double>(config.samples_per_second) / config.window_samples);
  const auto corner = [&](int64_t first) { return corners.narrow(0, first, n).unsqueeze(1); };
  const Tensor rising = (hz - corner(0)) / (corner(1) - corner(0));
  const Tensor falling = (corner(2) - hz) / (corner(2) - corner(1));
  const Tensor bank = at::minimum(rising, falling).clamp_min(0.0);
  const int64_t heard = bank.gt(0.0).any(1).sum().item<int64_t>();
  if (heard < n) {
    fail(
        "mel.num_energies ({}) is too many for window_samples ({}): {} of its filters would hear "
        "nothing",
        n, config.window_samples, n - heard);
  }
  return bank.to(at::kFloat);
}

Tensor log_mel_spectrogram(const Tensor& samples, const MelConfig& config) {
  check_shape(samples, {kAny, kAny}, "samples");
  num_mel_windows(samples.size(1), config);
  const int64_t window = config.window_samples, hop = config.hop_samples;
  const int64_t around = window - hop;
  // A Fourier transform of half precision does not exist, nor would its sums mean much.
  const bool half = samples.scalar_type() == at::kHalf || samples.scalar_type() == at::kBFloat16;
  const Tensor heard = half ? samples.to(at::kFloat) : samples;
  const Tensor padded = at::constant_pad_nd(heard, {around / 2, around - around / 2});
  const Tensor windows = padded.unfold(1, window, hop);  // [B, windows, window]
  const Tensor hann = at::hann_window(window, heard.options());
  const Tensor power = at::fft_rfft(windows * hann).abs().square() / hann.sum().square();
  const Tensor energies = at::matmul(power, mel_filterbank(config).to(heard.options()).t());
  return (energies + config.log_offset).log().to(samples.scalar_type());
}

void SoundElements::check() const {
  if (audio == AudioInput::kMel) mel_filterbank(mel);
  count();
}

int64_t SoundElements::count() const {
  if (audio == AudioInput::kRaw) return num_sample_patches(num_samples, samples_per_patch);
  if (mel.num_energies % energies_per_element != 0) {
    fail("energies_per_element ({}) must divide mel.num_energies ({})", energies_per_element,
         mel.num_energies);
  }
  return num_mel_windows(num_samples, mel) * (mel.num_energies / energies_per_element);
}

int64_t SoundElements::values() const {
  return audio == AudioInput::kRaw ? samples_per_patch : energies_per_element;
}

int64_t SoundElements::resolution() const {
  return audio == AudioInput::kRaw ? num_samples : count();
}

Tensor SoundElements::of(const Tensor& samples) const {
  check_shape(samples, {kAny, num_samples}, "samples");
  if (audio == AudioInput::kRaw) return samples_to_patches(samples, samples_per_patch);
  // Silence is -1 and a full-scale tone near 1, as wide as the position beside it.
  const Tensor energies = log_mel_spectrogram(samples.to(at::kFloat), mel);
  return (1.0 - energies * (2.0 / std::log(mel.log_offset)))
      .flatten(1)
      .unflatten(1, {-1, energies_per_element});
}

int64_t SoundElements::flops() const {
  if (audio == AudioInput::kRaw) return 0;
  return 2 * count() * energies_per_element * (mel.window_samples / 2 + 1);
}

}  // namespace perceiver
