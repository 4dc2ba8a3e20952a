// The pixels of FFmpeg's frames. Only built where its libraries are.
#pragma once

#include "perceiver/core/tensor.h"
#include "perceiver/media/ffmpeg.h"

namespace perceiver {

// Frames of one file to RGB; one of another size than was asked for is scaled to it.
class FrameConverter {
 public:
  FrameConverter(std::string name, int height, int width, bool with_alpha = false);

  Tensor operator()(const AVFrame& frame);  // -> uint8 [3, H, W], with alpha [4, H, W]

 private:
  void prepare_scaler(const AVFrame& frame);

  std::string name_;
  AvFrame planes_{
      allocated(ffmpeg().av_frame_alloc())};  // one a colour; rows are padded as the scaler likes
  Scaler scaler_;
};

}  // namespace perceiver
