#include "perceiver/modalities/audio.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

Tensor tone(double hz, double amplitude, const MelConfig& c, int64_t num_samples) {
  const Tensor seconds = at::arange(num_samples, at::kDouble) / c.samples_per_second;
  return (amplitude * (2.0 * std::numbers::pi * hz * seconds).sin()).to(at::kFloat).unsqueeze(0);
}

TEST(SamplePatches, AreConsecutiveSamples) {
  const Tensor samples = at::arange(24).view({2, 12});
  const Tensor patches = samples_to_patches(samples, 4);
  ASSERT_EQ(patches.sizes(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(patches[1][2][3].item<int64_t>(), 23);
  EXPECT_EQ(patches[0][1][0].item<int64_t>(), 4);
  EXPECT_TRUE(patches_to_samples(patches).equal(samples));
}

TEST(SamplePatches, NumbersAreThePapers) {
  EXPECT_EQ(num_sample_patches(16 * 1920, 16), 1'920);
  EXPECT_EQ(num_sample_patches(61'440, 128), 480);
  const MelConfig mel;
  EXPECT_EQ(num_mel_windows(61'440, mel) * mel.num_energies, 4'800);
}

// The definition once more, in plain loops: Fourier sum, triangles, logarithm.
double energy_of(const Tensor& samples, const MelConfig& c, int64_t window, int64_t filter) {
  const auto mel = [](double hz) { return 2595.0 * std::log10(1.0 + hz / 700.0); };
  const auto corner = [&](int64_t i) {
    const double step = (mel(c.high_hz) - mel(c.low_hz)) / (c.num_energies + 1);
    return 700.0 * (std::pow(10.0, (mel(c.low_hz) + i * step) / 2595.0) - 1.0);
  };
  const int64_t n = c.window_samples;
  const int64_t start = window * c.hop_samples + (c.hop_samples - n) / 2;
  double energy = 0.0;
  for (int64_t k = 0; k <= n / 2; ++k) {
    const double hz = static_cast<double>(k) * c.samples_per_second / n;
    const double left = corner(filter), peak = corner(filter + 1), right = corner(filter + 2);
    if (hz <= left || hz >= right) continue;
    double re = 0.0, im = 0.0, sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const double hann = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * i / n);
      sum += hann;
      if (start + i < 0 || start + i >= samples.size(1)) continue;
      const double x = hann * samples[0][start + i].item<double>();
      re += x * std::cos(2.0 * std::numbers::pi * i * k / n);
      im += x * std::sin(2.0 * std::numbers::pi * i * k / n);
    }
    const double height = hz < peak ? (hz - left) / (peak - left) : (right - hz) / (right - peak);
    energy += height * (re * re + im * im) / (sum * sum);
  }
  return std::log(energy + c.log_offset);
}

TEST(LogMelSpectrogram, IsTheDefinition) {
  at::manual_seed(1);
  const MelConfig c{.samples_per_second = 8000,
                    .window_samples = 64,
                    .hop_samples = 24,
                    .num_energies = 5,
                    .low_hz = 100.0,
                    .high_hz = 3500.0};
  const Tensor samples = at::randn({1, 5 * 24}) * 0.1;
  const Tensor energies = log_mel_spectrogram(samples, c);
  ASSERT_EQ(energies.sizes(), (std::vector<int64_t>{1, 5, 5}));
  for (int64_t w = 0; w < 5; ++w) {
    for (int64_t f = 0; f < 5; ++f) {
      EXPECT_NEAR(energies[0][w][f].item<double>(), energy_of(samples, c, w, f), 1e-4);
    }
  }
}

TEST(LogMelSpectrogram, APureToneIsLoudestInItsOwnFilter) {
  const MelConfig c;
  const Tensor bank = mel_filterbank(c);
  for (const int64_t filter : {4, 17, 35}) {
    const int64_t k = bank[filter].argmax().item<int64_t>();
    const double hz = static_cast<double>(k) * c.samples_per_second / c.window_samples;
    const Tensor energies = log_mel_spectrogram(tone(hz, 0.5, c, 20 * 512), c);
    EXPECT_EQ(energies[0][10].argmax().item<int64_t>(), filter);
    // A Hann window leaves a quarter of the power in each neighbouring frequency.
    const Tensor own = bank[filter];
    const double seen =
        own[k].item<double>() + 0.25 * (own[k - 1].item<double>() + own[k + 1].item<double>());
    EXPECT_NEAR(std::exp(energies[0][10][filter].item<double>()), 0.25 * 0.5 * 0.5 * seen, 1e-4);
  }
}

TEST(LogMelSpectrogram, SilenceIsTheOffset) {
  const MelConfig c;
  const Tensor energies = log_mel_spectrogram(at::zeros({2, 1024}), c);
  EXPECT_TRUE(at::allclose(energies, at::full({2, 2, 40}, std::log(1e-6))));
}

TEST(MelFilterbank, TrianglesAddUpToOneBetweenTheFirstAndTheLastPeak) {
  const MelConfig c;
  const Tensor bank = mel_filterbank(c);
  ASSERT_EQ(bank.sizes(), (std::vector<int64_t>{40, 1025}));
  const int64_t first = bank[0].argmax().item<int64_t>();
  const int64_t last = bank[39].argmax().item<int64_t>();
  const Tensor between = bank.narrow(1, first + 1, last - first - 1);
  EXPECT_TRUE(at::allclose(between.sum(0), at::ones({last - first - 1})));
}

TEST(MelFilterbank, ATrianglesAreaIsHalfItsWidth) {
  MelConfig c;
  c.window_samples = 1 << 16;  // fine enough for the sum to be the area
  const Tensor bank = mel_filterbank(c);
  const double mel_step = 2595.0 * std::log10(1.0 + c.high_hz / 700.0) / 41;
  const auto corner = [&](int64_t i) {
    return 700.0 * (std::pow(10.0, i * mel_step / 2595.0) - 1.0);
  };
  const double hz = static_cast<double>(c.samples_per_second) / c.window_samples;
  for (const int64_t i : {0, 20, 39}) {
    EXPECT_NEAR(bank[i].sum().item<double>() * hz / ((corner(i + 2) - corner(i)) / 2), 1.0, 1e-3);
  }
}

TEST(Audio, SizesThatDoNotDivideAreAnError) {
  EXPECT_EQ(error_of([] {
              samples_to_patches(at::zeros({1, 30}), 16);
            }),
            "samples_per_patch (16) must divide the number of samples (30)");
  EXPECT_EQ(error_of([] {
              log_mel_spectrogram(at::zeros({1, 600}), {});
            }),
            "mel.hop_samples (512) must divide the number of samples (600)");
  EXPECT_EQ(error_of([] { log_mel_spectrogram(at::zeros({600}), {}); }),
            "samples has shape [600], expected [*, *]");
}

TEST(MelFilterbank, WhatItCannotHearIsAnError) {
  EXPECT_EQ(error_of([] { mel_filterbank({.samples_per_second = 16'000}); }),
            "mel.high_hz (24000) must be above low_hz (0) and at most half of samples_per_second "
            "(16000)");
  EXPECT_EQ(error_of([] { mel_filterbank({.window_samples = 256}); }),
            "mel.num_energies (40) is too many for window_samples (256): 1 of its filters would "
            "hear nothing");
}

}  // namespace
}  // namespace perceiver
