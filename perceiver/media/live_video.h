// Pictures of a camera or of a stream, as they come: what was not asked for in time is passed over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Whether this names a stream ("rtsp://…", "http://…", any address that FFmpeg opens) or a camera
// ("/dev/video0") rather than a file.
bool is_live_address(const std::string& input);

class LiveVideo {
 public:
  struct Picture {
    int64_t number;  // of the pictures that came, from 1
    Tensor pixels;   // uint8 [3, H, W], all of one size
  };

  // Waits for the first picture; fails where none comes.
  explicit LiveVideo(const std::string& address);
  ~LiveVideo();
  LiveVideo(LiveVideo&&) noexcept;

  int64_t height() const;
  int64_t width() const;
  double frames_per_second() const;

  // Asked now and then while a picture is waited for: whether to wait no longer.
  void stop_when(std::function<bool()> asked);

  // The newest that was not yet given; waits for it. Nothing after the last, or when it is to stop.
  // Fails where the stream breaks off or falls silent.
  std::optional<Picture> next();

  // The newest two that came one after the other, likewise.
  std::optional<std::pair<Picture, Picture>> next_pair();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace perceiver
