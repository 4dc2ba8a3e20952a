// Small clips for tests, drawn and written by them.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/media/video.h"

namespace perceiver {

// Frames uint8 [3, H, W], with sound of 16 kHz where samples [S] are given, as the file `path`.
inline void write_clip(const std::filesystem::path& path, const std::vector<Tensor>& frames,
                       double frames_per_second = 25.0, const Tensor& samples = {}) {
  VideoFormat format{.height = frames.front().size(1),
                     .width = frames.front().size(2),
                     .frames_per_second = frames_per_second};
  if (samples.defined()) format.samples_per_second = 16'000;
  VideoWriter writer(path, format);
  for (const Tensor& frame : frames) writer.write(frame);
  if (samples.defined()) writer.write_samples(samples);
  writer.finish();
}

// The same in memory.
inline File clip_of(const std::vector<Tensor>& frames, double frames_per_second = 25.0,
                    const Tensor& samples = {}) {
  const std::string path = testing::TempDir() + "clip_" + std::to_string(getpid()) + ".mp4";
  write_clip(path, frames, frames_per_second, samples);
  File file = read_file(path);
  std::filesystem::remove(path);
  file.name = "clip.mp4";
  return file;
}

struct DrawnClip {
  int64_t num_frames;
  double frames_per_second = 25.0;
  Tensor samples = {};  // float [S] at 16 kHz
};

// Frame i is grey, of brightness 10 i (up to 25) and then from 0 again.
inline std::vector<Tensor> drawn_frames(int64_t num_frames) {
  std::vector<Tensor> frames;
  for (int64_t i = 0; i < num_frames; ++i) {
    frames.push_back(at::full({3, 32, 48}, i % 26 * 10, at::kByte));
  }
  return frames;
}

inline File drawn_clip(const DrawnClip& clip) {
  return clip_of(drawn_frames(clip.num_frames), clip.frames_per_second, clip.samples);
}

}  // namespace perceiver
