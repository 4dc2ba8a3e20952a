// A clip as models take it: square frames of one size at an even rate, and the sound beside them.
#pragma once

#include <optional>

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"
#include "perceiver/media/video.h"

namespace perceiver {

struct ClipFormat {
  int64_t image_size;  // height and width of a frame, in pixels
  int64_t samples_per_second;
  bool first_channel = false;  // of the sound alone, else the mean of all
  int64_t frames_per_second;
};

// The middle square of pixels [C, H, W] -> [C, side, side], where the released demo cuts it out.
Tensor centre_square(const Tensor& pixels);

// Frames come one after another, so that a clip may be long; its sound is held, one channel.
class ClipReader {
 public:
  // A sound without a picture is a clip of black frames.
  ClipReader(const File& file, const ClipFormat& format);

  bool has_picture() const { return video_.has_value(); }
  bool has_sound() const { return sound_.defined(); }
  int64_t expected_frames() const;  // as the container says; 0: it does not

  // The frame nearest in time to each step of the rate, uint8 [3, H, W]; nothing after the last.
  std::optional<Tensor> next_frame();
  bool skip_frame();  // false after the last

  // From the beginning of a frame on, in [-1, 1]: float [S]. Silence where there is no sound, or
  // where it has ended.
  Tensor samples(int64_t first_frame, int64_t num_samples) const;

 private:
  int64_t sound_frames() const;  // as many as the sound lasts

  ClipFormat format_;
  std::optional<VideoReader> video_;
  Tensor sound_;      // float [S]
  Tensor picture_;    // the last frame that was read, uint8 [3, H, W]
  Tensor prepared_;   // the same, cropped and resized, once that has been asked for
  int64_t read_ = 0;  // frames of the video
  int64_t next_ = 0;  // frame of the clip
  bool ended_ = false;
};

// How many frames a ClipReader gives, found by decoding them all.
int64_t count_frames(const File& file, const ClipFormat& format);

}  // namespace perceiver
