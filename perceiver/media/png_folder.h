// A video as a folder of PNGs, for builds and machines without an encoder.
#pragma once

#include <vector>

#include "perceiver/media/video_sink.h"

namespace perceiver {

// 000000.png and so on, and sound.wav. Written beside; finish() renames, and without it nothing is
// left, unless the program is interrupted. The folder must be new or empty.
class PngFolder : public VideoSink {
 public:
  PngFolder(std::filesystem::path path, std::optional<int64_t> samples_per_second);
  ~PngFolder() override;
  PngFolder(const PngFolder&) = delete;

  void write(const Tensor& frame) override;
  void write_samples(const Tensor& samples) override;
  void finish() override;

 private:
  std::filesystem::path path_, beside_;
  std::optional<int64_t> samples_per_second_;
  std::vector<Tensor> samples_;
  int64_t num_frames_ = 0;
};

}  // namespace perceiver
