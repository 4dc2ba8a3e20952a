// Sound to elements of an array, and back (paper, Sec. 4.3 and App. C): patches of samples, or the
// energies of a mel spectrogram.
#pragma once

#include <array>
#include <string_view>

#include "perceiver/core/config.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// Patches in so many samples; fails unless they fill it.
int64_t num_sample_patches(int64_t num_samples, int64_t samples_per_patch);

// [B, S] -> [B, S / samples_per_patch, samples_per_patch]
Tensor samples_to_patches(const Tensor& samples, int64_t samples_per_patch);

// The reverse: [B, patches, samples_per_patch] -> [B, S]
Tensor patches_to_samples(const Tensor& patches);

// The paper gives 4,800 elements for 61,440 samples and no more: 120 windows of 40 energies.
struct MelConfig {
  int64_t samples_per_second = 48'000;
  int64_t window_samples = 2048;
  int64_t hop_samples = 512;
  int64_t num_energies = 40;
  double low_hz = 0.0, high_hz = 24'000.0;
  double log_offset = 1e-6;
};

template <typename Visitor>
void fields(Visitor& visit, MelConfig& c) {
  visit({"samples_per_second", "Sampling rate of the sound"}, c.samples_per_second, at_least(1));
  visit({"window_samples", "Samples of a Hann window, and points of its Fourier transform"},
        c.window_samples, between(2, 1 << 16));
  visit({"hop_samples", "Samples between the middles of two windows"}, c.hop_samples, at_least(1));
  visit({"num_energies", "Energies of a window: filters of the bank"}, c.num_energies,
        between(1, 1 << 12));
  visit({"low_hz", "Lowest frequency of the filters"}, c.low_hz, at_least(0.0));
  visit({"high_hz", "Highest frequency of the filters"}, c.high_hz, at_least(0.0));
  visit({"log_offset", "Added before the logarithm: what silence counts as"}, c.log_offset,
        between(1e-30, 0.5));
}

// Windows in so many samples, one a hop; fails unless hops fill it.
int64_t num_mel_windows(int64_t num_samples, const MelConfig& config);

// Triangles of height 1 whose corners are evenly spaced on HTK's mel scale, 2595 log10(1 + f /
// 700), each falling to 0 where its neighbours peak: [energies, window / 2 + 1 frequencies].
Tensor mel_filterbank(const MelConfig& config);

// log(bank * power + log_offset): [B, S] -> [B, windows, energies]. Window i has its middle in the
// middle of hop i, and zeros outside the sound. Power is that of the spectrum over the square of
// the window's sum: a sinusoid of amplitude a has a^2 / 4 at its frequency, however long the
// window.
Tensor log_mel_spectrogram(const Tensor& samples, const MelConfig& config);

// What an element of sound is.
enum class AudioInput {
  kRaw,  // a patch of samples
  kMel,  // one energy of a mel spectrogram, or some
};
constexpr std::array<std::string_view, 2> enum_words(AudioInput) { return {"raw", "mel"}; }

// How a model hears.
struct SoundElements {
  AudioInput audio;
  int64_t num_samples, samples_per_patch;
  MelConfig mel;
  int64_t energies_per_element;

  // Fails where there can be no such elements.
  void check() const;

  int64_t count() const;
  int64_t values() const;  // of an element

  // What the Fourier features of their places are made for. Of raw sound the samples, though an
  // element is a patch: as in the released model of Kinetics. The paper does not say.
  int64_t resolution() const;

  // Samples [B, S] in [-1, 1] -> [B, elements, values]. A spectrogram is made in float32 whatever
  // the samples' dtype; silence is -1 in it.
  Tensor of(const Tensor& samples) const;

  int64_t flops() const;  // of a spectrogram's filters: a Fourier transform is no product
};

}  // namespace perceiver
