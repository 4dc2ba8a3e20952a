#include "perceiver/media/sound.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/media/media_test.h"
#include "perceiver/media/reading_limits.h"
#include "perceiver/media/video.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

std::string error_in(const std::string& bytes) {
  return error_of([&] { decode_sound(File{"x", bytes}); });
}

// A sine of `hz` -> float [1, S]
Sound tone(double hz, int64_t samples_per_second, int64_t num_samples) {
  const Tensor t = at::arange(num_samples, at::kDouble) / static_cast<double>(samples_per_second);
  return {(t * (2 * M_PI * hz)).sin().to(at::kFloat).unsqueeze(0), samples_per_second};
}

// Without the ends, where the sound begins out of silence.
double loudest(const Tensor& samples) {
  const int64_t size = samples.size(-1);
  return samples.narrow(-1, size / 4, size / 2).abs().max().item<double>();
}

TEST(Wav, WhatIsWrittenIsReadBack) {
  const Tensor samples = at::arange(-32768, 32768, 17).to(at::kFloat).div(32768).view({2, -1});
  const Sound sound = decode_sound({"x", encode_wav({samples, 44100})});
  EXPECT_EQ(sound.samples_per_second, 44100);
  EXPECT_TRUE(sound.samples.equal(samples));
}

TEST(Wav, WhatIsTooLoudIsCut) {
  const Tensor samples = at::tensor({-3.f, 1.f, 3.f}).unsqueeze(0);
  const Sound sound = decode_sound({"x", encode_wav({samples, 8000})});
  EXPECT_TRUE(
      sound.samples.equal(at::tensor({-32768.f, 32767.f, 32767.f}).div(32768).unsqueeze(0)));
}

TEST(Wav, SoundThatDoesNotFitIsRefused) {
  const Tensor samples = at::zeros({1, 1}).expand({1, int64_t{1} << 31});
  EXPECT_EQ(error_of([&] {
              encode_wav({samples, 8000});
            }),
            "sound of 2147483648 samples, a WAV holds at most 2147483625");
}

TEST(Wav, EveryTypeOfSampleIsRead) {
  const Sound exact = decode_sound(golden("float64.wav"));
  ASSERT_EQ(exact.samples.sizes(), (std::vector<int64_t>{2, 20}));
  EXPECT_EQ(exact.samples_per_second, 8000);
  const Tensor left = tone(440, 8000, 20).samples * 0.9;
  EXPECT_TRUE(at::allclose(exact.samples, at::cat({left, left / 2}), 0, 1e-6));
  // The step of the type, since full scale is one step short of 1.
  const std::pair<const char*, double> files[] = {
      {"pcm8.wav", 1.0 / 64}, {"pcm16.wav", 1.0 / 16384}, {"pcm24.wav", 1e-6},
      {"pcm32.wav", 1e-6},    {"float32.wav", 1e-6},      {"extensible24.wav", 1e-6}};
  for (const auto& [name, step] : files) {
    const Sound sound = decode_sound(golden(name));
    EXPECT_TRUE(at::allclose(sound.samples, exact.samples, 0, step)) << name;
  }
}

TEST(Wav, ThatWasStreamedGoesOnToItsEnd) {
  std::string bytes = encode_wav(tone(440, 8000, 5));
  bytes.replace(40, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(decode_sound({"x", bytes}).samples.size(1), 5);
}

TEST(Wav, BrokenOnesAreNamed) {
  const std::string bytes = encode_wav(tone(440, 8000, 5));
  EXPECT_EQ(error_in(""), "x: is empty, expected a sound");
  EXPECT_EQ(error_in(bytes.substr(0, 50)),
            "x: broken WAV: chunk of 10 bytes where 6 are left; cut short?");
  EXPECT_EQ(error_in(bytes.substr(0, 12)), "x: broken WAV: no format; cut short?");
  EXPECT_EQ(error_in(bytes.substr(0, 36)), "x: broken WAV: no samples; cut short?");
  EXPECT_EQ(error_in("RIFF\0\0\0\0WAVEfmt \4\0\0\0abcd"s), "x: broken WAV: format of 4 bytes");
  const auto with = [&](size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    return changed;
  };
  EXPECT_EQ(error_in(with(22, 0)), "x: broken WAV: 0 channels of 8000 samples a second");
  EXPECT_EQ(error_in(with(25, 0)),  // 0x0040 instead of 0x1f40
            "x: sound of 64 samples a second, expected 1000 to 1000000");
  EXPECT_EQ(error_in(with(27, 0x7f)),  // 0x7f001f40: a filter of minutes
            "x: sound of 2130714432 samples a second, expected 1000 to 1000000");
  EXPECT_EQ(error_in(with(40, 9)), "x: broken WAV: 9 bytes of samples, expected a multiple of 2");
  EXPECT_EQ(error_in(with(40, 0)), "x: has no samples");
  std::string not_a_number = golden("float32.wav").bytes;
  not_a_number.replace(not_a_number.size() - 4, 4, "\xff\xff\xff\x7f");
  EXPECT_EQ(error_in(not_a_number), "x: broken WAV: a sample is not a finite number");
}

TEST(Wav, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  for (const char* name : {"extensible24.wav", "pcm8.wav"}) {
    expect_truncations_fail(golden(name).bytes, decode_sound);
    flip_every_bit(golden(name).bytes, decode_sound);
  }
}

TEST(Sound, OtherFilesAreNoSounds) {
  if (video_is_built_in()) {
    EXPECT_EQ(error_of([] {
                decode_sound({"x.flac", "hello there"});
              }),
              "x.flac: not a video or sound: invalid data found when processing input");
  } else {
    EXPECT_EQ(error_of([] {
                decode_sound({"x.flac", "hello there"});
              }),
              "x.flac: this build reads no sound but WAV of PCM or floats: it was made without "
              "FFmpeg's libraries; install libavformat-dev libavcodec-dev libavutil-dev "
              "libswscale-dev libswresample-dev and build again");
  }
}

TEST(Sound, MonoIsTheMeanOfTheChannels) {
  const Sound sound = mono({at::tensor({1.f, 0.f, 0.5f, 0.5f}).view({2, 2}), 8000});
  EXPECT_TRUE(sound.samples.equal(at::tensor({0.75f, 0.25f}).view({1, 2})));
  EXPECT_EQ(sound.samples_per_second, 8000);
}

TEST(Resample, KeepsWhatBothRatesCanHold) {
  for (const auto& [from, to] : {std::pair{44100, 16000},
                                 {16000, 44100},
                                 {48000, 8000},
                                 {8000, 48000},
                                 {22050, 48000},
                                 {8000, 7999}}) {
    const double hz = 0.4 * std::min(from, to);  // 0.5 is the limit
    const Sound sound = resample(tone(hz, from, from / 4), to);
    EXPECT_EQ(sound.samples_per_second, to);
    const int64_t size = sound.samples.size(1);
    EXPECT_EQ(size, (from / 4 * int64_t{to} + from - 1) / from);
    const Tensor difference = sound.samples - tone(hz, to, size).samples;
    // The window lets 90 dB less through: 3e-5.
    EXPECT_LE(loudest(difference), 1e-4) << from << " to " << to;
  }
}

TEST(Resample, LetsNothingAboveTheLimitThrough) {
  for (const double share : {0.505, 0.6, 0.9, 1.0, 1.3}) {
    EXPECT_LE(loudest(resample(tone(share * 16000, 48000, 24000), 16000).samples), 1e-4) << share;
  }
}

TEST(Resample, KeepsAConstantAndEveryChannel) {
  const Tensor samples = at::ones({2, 4410}) * at::tensor({0.5f, -0.25f}).unsqueeze(1);
  const Tensor resampled = resample({samples, 44100}, 16000).samples;
  EXPECT_NEAR(resampled[0][800].item<float>(), 0.5, 1e-5);
  EXPECT_NEAR(resampled[1][800].item<float>(), -0.25, 1e-5);
  EXPECT_TRUE(resample({samples, 44100}, 44100).samples.equal(samples));
  EXPECT_EQ(error_of([&] {
              resample({samples, 44100}, 0);
            }),
            "cannot resample from 44100 to 0 samples a second");
}

TEST(Sound, AProgramMayReadShorterOnesAlone) {
  const std::string second = encode_wav({at::zeros({1, 8000}), 8000});
  most_seconds_read = 0.5;
  EXPECT_EQ(error_in(second), "x: lasts longer than the 0.5 seconds that are read");
  most_seconds_read = 1.0;
  EXPECT_EQ(error_in(second), "no error");
  most_seconds_read = kMostSeconds;
}

TEST(Sound, EndingsAreKnownInAnyCase) {
  for (const char* name : {"a.wav", "b.FLAC", "c.mp3", "d.ogg", "e.opus", "f.m4a", "g.aac"}) {
    EXPECT_TRUE(has_sound_ending(name)) << name;
  }
  EXPECT_FALSE(has_sound_ending("a.mp4"));
}

}  // namespace
}  // namespace perceiver
