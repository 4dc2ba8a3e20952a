// Files of frames, one frame after another, and what is known of their motion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perceiver/media/flow.h"
#include "perceiver/media/live_video.h"
#include "perceiver/media/video.h"

namespace perceiver {

struct Frame {
  std::string name;  // for messages: a path, or "clip.mp4, frame 12"
  std::string stem;  // for the files written: "frame_0001", "000012"
  Tensor pixels;     // uint8 [3, H, W]
};

// Two pictures, a folder of them, a video, or a camera or stream by its address. A folder's
// pictures are all looked at in advance: a damaged one at the end would cost everything before it.
class FrameSource {
 public:
  explicit FrameSource(const std::vector<std::string>& inputs);

  // Of a camera or stream one after the other is taken from the newest two, again and again: the
  // Of a camera or stream: the first of the newest two, then the second, and so on.
  std::optional<Frame> next();

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  bool is_pair() const { return files_.size() == 2; }
  bool is_video() const { return video_ || live_; }
  bool is_live() const { return live_.has_value(); }
  void stop_when(std::function<bool()> asked);  // of a camera or stream, as LiveVideo
  double frames_per_second() const;             // of pictures: 10
  std::optional<int64_t> num_pairs() const;     // where it is known

  // Of the first frame of each pair; none for a video, whose frames are numbered.
  std::vector<std::string> stems() const;

  const std::vector<std::string>& files() const { return files_; }

 private:
  void open_video(const std::string& file);
  void open_pictures(std::vector<std::string> files);
  std::optional<Frame> live_picture();
  Frame picture(size_t index) const;

  std::vector<std::string> files_;  // pictures, or the one video
  std::vector<Frame> kept_;         // of a pair, of which one may be the standard input
  std::optional<VideoReader> video_;
  std::optional<LiveVideo> live_;
  std::optional<Frame> after_;  // the second of the newest two
  size_t next_ = 0;
  int64_t height_ = 0, width_ = 0;
};

// Flow known to be true: a file for a pair, a folder for more, in which it has the name of the
// first frame and the ending .flo or .png.
class GroundTruth {
 public:
  // Of an empty `path` nothing is known.
  GroundTruth(std::string path, const FrameSource& source);

  std::optional<FlowField> of(const Frame& first) const;

  // The file of() would read, or "".
  std::string file_of(const std::string& stem) const;

 private:
  FlowField read(const std::string& file) const;

  std::string path_;
  bool is_folder_;
  int64_t height_, width_;
};

}  // namespace perceiver
