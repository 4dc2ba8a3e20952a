#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/media/ffmpeg.h"
#include "perceiver/media/ffmpeg_libraries.h"
#include "perceiver/media/frame_converter.h"
#include "perceiver/media/orientation.h"
#include "perceiver/media/picture_size.h"
#include "perceiver/media/video.h"

extern "C" {
#include <libavutil/display.h>
}

namespace perceiver {
namespace {

const int32_t* display_matrix(AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT < AV_VERSION_INT(60, 15, 100)
  return reinterpret_cast<const int32_t*>(
      ffmpeg().av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
#else
  const AVCodecParameters& codec = *stream.codecpar;
  const AVPacketSideData* data = ffmpeg().av_packet_side_data_get(
      codec.coded_side_data, codec.nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return data ? reinterpret_cast<const int32_t*>(data->data) : nullptr;
#endif
}

// As upright() takes it. The matrix maps a pixel to (a x + c y, b x + d y).
int orientation_of(AVStream& stream) {
  const int32_t* matrix = display_matrix(stream);
  if (!matrix) return 1;
  const double a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
  const bool on_its_side = std::abs(b) + std::abs(c) > std::abs(a) + std::abs(d);
  const bool mirrored_x = (on_its_side ? c : a) < 0, mirrored_y = (on_its_side ? b : d) < 0;
  return (on_its_side ? 5 : 1) + (mirrored_y ? 3 - mirrored_x : mirrored_x);
}

}  // namespace

struct VideoReader::State {
  explicit State(File file) : reader(std::move(file), AVMEDIA_TYPE_VIDEO) {
    const AVCodecContext& codec = reader.codec();
    check_picture_size(reader.name(), codec.height, codec.width);
    AVStream& stream = reader.stream();
    orientation = orientation_of(stream);
    const AVRational rate = ffmpeg().av_guess_frame_rate(&reader.container(), &stream, nullptr);
    info = {.height = orientation > 4 ? codec.width : codec.height,
            .width = orientation > 4 ? codec.height : codec.width,
            .frames_per_second = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 25.0,
            .num_frames = {},
            .has_sound = reader.has(AVMEDIA_TYPE_AUDIO)};
    if (stream.nb_frames > 0) info.num_frames = stream.nb_frames;
    pixels.emplace(reader.name(), codec.height, codec.width);
  }

  FrameReader reader;
  VideoInfo info = {};
  int orientation = 1;
  int64_t read = 0;                      // frames so far
  std::optional<FrameConverter> pixels;  // as stored
};

VideoReader::VideoReader(File file) {
  if (file.bytes.empty()) fail("{}: is empty, expected a video", file.name);
  state_ = std::make_unique<State>(std::move(file));
}
VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;

const VideoInfo& VideoReader::info() const { return state_->info; }

std::optional<Tensor> VideoReader::next() {
  const AVFrame* frame = state_->reader.next();
  if (!frame) return std::nullopt;
  const auto seconds = static_cast<double>(state_->read++) / state_->info.frames_per_second;
  check_length_read(state_->reader.name(), seconds);
  return upright((*state_->pixels)(*frame), state_->orientation).contiguous();
}

bool video_is_built_in() { return !ffmpeg_libraries().version.empty(); }

}  // namespace perceiver
