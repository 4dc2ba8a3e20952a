// A drawn clip for the tests of video.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "perceiver/media/media_test.h"
#include "perceiver/media/video.h"

namespace perceiver {

constexpr int64_t kFrames = 20, kRate = 16000, kSamples = 12800;  // 25 frames a second: 0.8 s
constexpr double kHz = 440;

// A soft disc that moves over a gradient, uint8 [3, H, W].
inline Tensor drawn(int64_t frame, int64_t height = 48, int64_t width = 64) {
  const Tensor y = at::arange(height, at::kFloat).unsqueeze(1), x = at::arange(width, at::kFloat);
  const Tensor distance =
      ((y - height * 0.5).square() + (x - 10.0 - 2.0 * static_cast<double>(frame)).square()).sqrt();
  const Tensor disc = (9.0 - distance).clamp(0, 4) / 4;
  const Tensor red = 220 * disc + 20, green = (y * (200.0 / height)).expand({height, width}),
               blue = (x * (200.0 / width)).expand({height, width});
  return at::stack({red, green, blue}).round().to(at::kByte);
}

inline Tensor tone() {
  return (at::arange(kSamples, at::kDouble) * (2 * M_PI * kHz / kRate)).sin().to(at::kFloat) * 0.5;
}

// Where it went.
inline std::filesystem::path write_clip(const std::filesystem::path& path, int64_t height = 48,
                                        int64_t width = 64, bool with_sound = true) {
  VideoFormat format{.height = height, .width = width, .frames_per_second = 25};
  if (with_sound) format.samples_per_second = kRate;
  VideoWriter writer(path, format);
  for (int64_t i = 0; i < kFrames; ++i) {
    writer.write(drawn(i, height, width));
    if (!with_sound) continue;
    writer.write_samples(tone().narrow(0, i * kSamples / kFrames, kSamples / kFrames));
  }
  writer.finish();
  return writer.path();
}

inline std::vector<Tensor> all_frames(VideoReader& reader) {
  std::vector<Tensor> frames;
  while (const std::optional<Tensor> frame = reader.next()) frames.push_back(*frame);
  return frames;
}

class Video : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "built without FFmpeg's libraries";
  }
};

}  // namespace perceiver
