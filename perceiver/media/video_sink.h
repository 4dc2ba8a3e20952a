// Where a VideoWriter writes to: a container or a folder.
#pragma once

#include <memory>

#include "perceiver/media/video.h"

namespace perceiver {

class VideoSink {
 public:
  virtual ~VideoSink() = default;

  virtual void write(const Tensor& frame) = 0;            // uint8 [3, H, W]
  virtual void write_samples(const Tensor& samples) = 0;  // float [S]
  virtual void finish() = 0;
};

// By FFmpeg's libraries; null where there are none, or no encoder for the path's ending.
std::unique_ptr<VideoSink> open_container(const std::filesystem::path& path,
                                          const VideoFormat& format);

}  // namespace perceiver
