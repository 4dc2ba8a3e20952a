// Video through FFmpeg's libraries. In a build without them every function fails and says how to
// get one; a folder of pictures needs nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "perceiver/core/file.h"
#include "perceiver/media/sound.h"

namespace perceiver {

struct VideoInfo {
  int64_t height, width;  // as shown: a turned clip is turned
  double frames_per_second;
  std::optional<int64_t> num_frames;  // where the container knows
  bool has_sound;
};

// The frames of a clip in memory, one after another.
class VideoReader {
 public:
  explicit VideoReader(File file);  // fails where there is no picture in it
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;

  const VideoInfo& info() const;
  std::optional<Tensor> next();  // uint8 [3, H, W]; nothing after the last

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct VideoFormat {
  int64_t height, width;
  double frames_per_second;
  std::optional<int64_t> samples_per_second = {};  // with sound of one channel
};

// Writes beside `path` and renames in finish(); without it nothing is left. The container follows
// from the ending (.mp4, .mkv, .webm, .avi …), the codec is H.264 or the best encoder there is.
// Odd sizes are extended by a row or column that repeats the last. A path without an ending gives
// a new folder of PNGs (000000.png …) and sound.wav; so does, under the path's name without its
// ending, a build without any encoder for it.
class VideoWriter {
 public:
  VideoWriter(std::filesystem::path path, const VideoFormat& format);
  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;

  void write(const Tensor& frame);            // uint8 [3, H, W]
  void write_samples(const Tensor& samples);  // float [S], in [-1, 1]
  void finish();

  // Where it went: the path, or the folder that took its place.
  const std::filesystem::path& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether this build can read and write video, and FFmpeg's libraries are here.
bool video_is_built_in();

// Whether the name ends as videos do: .mp4, .mkv, .mov, .avi, .webm, .mpg, .mpeg, .m4v, .gif, .ogv,
// .3gp, .ts, .flv.
bool has_video_ending(const std::filesystem::path& path);

}  // namespace perceiver
