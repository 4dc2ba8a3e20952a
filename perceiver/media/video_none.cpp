// Linked in the place of all that needs FFmpeg's libraries, where these are not.
#include "perceiver/core/error.h"
#include "perceiver/media/ffmpeg_libraries.h"
#include "perceiver/media/live_video.h"
#include "perceiver/media/other_picture.h"
#include "perceiver/media/sound_container.h"
#include "perceiver/media/video.h"
#include "perceiver/media/video_sink.h"

namespace perceiver {
namespace {

[[noreturn]] void fail_without_ffmpeg(const std::string& name, const char* what) {
  fail(
      "{}: this build reads no {}: it was made without FFmpeg's libraries; install libavformat-dev "
      "libavcodec-dev libavutil-dev libswscale-dev libswresample-dev and build again",
      name, what);
}

}  // namespace

struct VideoReader::State {};

VideoReader::VideoReader(File file) { fail_without_ffmpeg(file.name, "video"); }
VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;

const VideoInfo& VideoReader::info() const { TORCH_INTERNAL_ASSERT(false); }

std::optional<Tensor> VideoReader::next() { TORCH_INTERNAL_ASSERT(false); }

bool video_is_built_in() { return false; }

struct LiveVideo::State {};

LiveVideo::LiveVideo(const std::string& address) { fail_without_ffmpeg(address, "streams"); }
LiveVideo::~LiveVideo() = default;
LiveVideo::LiveVideo(LiveVideo&&) noexcept = default;

void LiveVideo::stop_when(std::function<bool()>) { TORCH_INTERNAL_ASSERT(false); }

int64_t LiveVideo::height() const { TORCH_INTERNAL_ASSERT(false); }

int64_t LiveVideo::width() const { TORCH_INTERNAL_ASSERT(false); }

double LiveVideo::frames_per_second() const { TORCH_INTERNAL_ASSERT(false); }

std::optional<LiveVideo::Picture> LiveVideo::next() { TORCH_INTERNAL_ASSERT(false); }

std::optional<std::pair<LiveVideo::Picture, LiveVideo::Picture>> LiveVideo::next_pair() {
  TORCH_INTERNAL_ASSERT(false);
}

const FfmpegLibraries& ffmpeg_libraries() {
  static const FfmpegLibraries none = {.missing = "this build was made without FFmpeg's libraries"};
  return none;
}

std::unique_ptr<VideoSink> open_container(const std::filesystem::path&, const VideoFormat&) {
  return nullptr;
}

Sound decode_sound_container(const File& file) {
  fail_without_ffmpeg(file.name, "sound but WAV of PCM or floats");
}

Tensor decode_other_picture(const File& file) {
  fail_without_ffmpeg(file.name, "pictures but PNG, JPEG and PPM");
}

}  // namespace perceiver
