// What FFmpeg opens by an address, and the pictures in it. Only built where its libraries are.
#pragma once

#include <atomic>
#include <chrono>

#include "perceiver/media/frame_converter.h"

namespace perceiver {

class StreamReader {
 public:
  explicit StreamReader(const std::string& address);  // fails where there is no picture in it
  StreamReader(const StreamReader&) = delete;

  // Nothing after the last. What cannot be decoded is passed over: a stream is joined anywhere.
  std::optional<Tensor> next();

  // From any thread: whatever is waited for ends, as at the end of the stream.
  void stop() { stopped_ = true; }

  double frames_per_second() const;

  // Seconds since the first picture when the last given is due, where this is a recording that
  // comes as fast as it is read; else nothing.
  std::optional<double> due() const;

 private:
  using Clock = std::chrono::steady_clock;

  static int must_end(void* self);
  void open();
  void open_decoder();
  bool send_packet();  // false: there is none left

  std::string address_;
  std::atomic<bool> stopped_ = false;
  Clock::time_point last_word_ = Clock::now();  // when the other side was last heard of
  AvInput container_;
  AVStream* stream_ = nullptr;
  AvCodec codec_;
  AvPacket packet_{allocated(ffmpeg().av_packet_alloc())};
  AvFrame frame_{allocated(ffmpeg().av_frame_alloc())};
  std::optional<FrameConverter> pixels_;
  std::optional<int64_t> first_time_;
};

}  // namespace perceiver
