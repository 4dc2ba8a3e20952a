// Sound in memory: WAV by ourselves, everything else by FFmpeg's libraries where they are.
#pragma once

#include <filesystem>

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

struct Sound {
  // float [channels, S], in [-1, 1]; lossy codecs and files of floats may go a little beyond.
  Tensor samples;
  int64_t samples_per_second;
};

// WAV, any sound container, or the sound of a video. Fails where there is no sound.
Sound decode_sound(const File& file);

std::string encode_wav(const Sound& sound);  // PCM of 16 bits

// One channel, the mean of all -> float [1, S].
Sound mono(const Sound& sound);

// By a windowed sinc, which lets nothing above either rate's limit through.
Sound resample(const Sound& sound, int64_t samples_per_second);

// Whether the name ends as sounds without pictures do: .wav, .flac, .mp3, .ogg, .opus, .m4a, .aac.
bool has_sound_ending(const std::filesystem::path& path);

}  // namespace perceiver
