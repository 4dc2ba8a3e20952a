#include "perceiver/media/video.h"

#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/media/ending.h"
#include "perceiver/media/picture_size.h"
#include "perceiver/media/png_folder.h"
#include "perceiver/media/video_sink.h"

namespace perceiver {
namespace {

constexpr std::array<std::string_view, 13> kEndings = {".mp4", ".mkv",  ".mov", ".avi", ".webm",
                                                       ".mpg", ".mpeg", ".m4v", ".gif", ".ogv",
                                                       ".3gp", ".ts",   ".flv"};

void check(const std::filesystem::path& path, const VideoFormat& format) {
  if (path.has_extension() && !has_video_ending(path)) {
    fail("{}: '{}' is no ending of a video, expected {}, or none for a folder of pictures",
         path.string(), path.extension().string(), fmt::join(kEndings, ", "));
  }
  check_picture_size(path.string(), format.height, format.width);
  if (!std::isfinite(format.frames_per_second) || format.frames_per_second <= 0) {
    fail("{}: {} frames a second, expected more than 0", path.string(), format.frames_per_second);
  }
}

}  // namespace

struct VideoWriter::State {
  State(std::filesystem::path given, const VideoFormat& format)
      : path(std::move(given)), format(format) {
    check(path, format);
    if (path.has_extension()) sink = open_container(path, format);
    if (sink) return;
    path.replace_extension();
    sink = std::make_unique<PngFolder>(path, format.samples_per_second);
  }

  std::filesystem::path path;
  VideoFormat format;
  std::unique_ptr<VideoSink> sink;
  int64_t num_frames = 0;
};

VideoWriter::VideoWriter(std::filesystem::path path, const VideoFormat& format)
    : state_(std::make_unique<State>(std::move(path), format)) {}
VideoWriter::~VideoWriter() = default;
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;

void VideoWriter::write(const Tensor& frame) {
  check_shape(frame, {3, state_->format.height, state_->format.width}, "frame");
  if (frame.scalar_type() != at::kByte) {
    fail("frame has elements of type {}, expected uint8", c10::toString(frame.scalar_type()));
  }
  state_->sink->write(frame);
  ++state_->num_frames;
}

void VideoWriter::write_samples(const Tensor& samples) {
  check_shape(samples, {kAny}, "samples");
  if (!state_->format.samples_per_second) {
    fail("{}: samples for a video without sound", state_->path.string());
  }
  state_->sink->write_samples(samples);
}

void VideoWriter::finish() {
  if (state_->num_frames == 0) fail("{}: a video without frames", state_->path.string());
  state_->sink->finish();
}

const std::filesystem::path& VideoWriter::path() const { return state_->path; }

bool has_video_ending(const std::filesystem::path& path) { return has_ending(path, kEndings); }

}  // namespace perceiver
