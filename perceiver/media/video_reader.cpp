#include <ATen/ATen.h>

#include <cmath>
#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/media/ffmpeg.h"
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
      av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
#else
  const AVCodecParameters& codec = *stream.codecpar;
  const AVPacketSideData* data = av_packet_side_data_get(
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

// FFmpeg has names of their own for some of the formats whose values span all of 0 to 255.
AVPixelFormat without_range(AVPixelFormat format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      return AV_PIX_FMT_YUV440P;
    default:
      return format;
  }
}

// Green, blue, red -> uint8 [3, H, W]. Row by row: ATen's copy would wait for all threads each
// time.
Tensor to_tensor(const AVFrame& planes) {
  const Tensor pixels = at::empty({3, planes.height, planes.width}, at::kByte);
  uint8_t* out = pixels.data_ptr<uint8_t>();
  for (const int plane : {2, 0, 1}) {
    for (int y = 0; y < planes.height; ++y, out += planes.width) {
      std::memcpy(out, planes.data[plane] + int64_t{y} * planes.linesize[plane], planes.width);
    }
  }
  return pixels;
}

}  // namespace

struct VideoReader::State {
  explicit State(File file) : reader(std::move(file), AVMEDIA_TYPE_VIDEO) {
    const AVCodecContext& codec = reader.codec();
    check_picture_size(reader.name(), codec.height, codec.width);
    AVStream& stream = reader.stream();
    orientation = orientation_of(stream);
    const AVRational rate = av_guess_frame_rate(&reader.container(), &stream, nullptr);
    info = {.height = orientation > 4 ? codec.width : codec.height,
            .width = orientation > 4 ? codec.height : codec.width,
            .frames_per_second = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 25.0,
            .num_frames = {},
            .has_sound = reader.has(AVMEDIA_TYPE_AUDIO)};
    if (stream.nb_frames > 0) info.num_frames = stream.nb_frames;
    pixels->format = AV_PIX_FMT_GBRP;
    pixels->width = codec.width;
    pixels->height = codec.height;
    if (av_frame_get_buffer(pixels.get(), 0) < 0) throw std::bad_alloc();
  }

  // A frame of another size than the first is scaled to it.
  void prepare_scaler(const AVFrame& frame) {
    const auto stored = static_cast<AVPixelFormat>(frame.format);
    const AVPixelFormat format = without_range(stored);
    scaler.reset(sws_getCachedContext(scaler.release(), frame.width, frame.height, format,
                                      pixels->width, pixels->height, AV_PIX_FMT_GBRP,
                                      SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND, nullptr,
                                      nullptr, nullptr));
    if (!scaler) fail("{}: cannot convert its pictures to RGB", reader.name());
    const bool full_range = frame.color_range == AVCOL_RANGE_JPEG || format != stored;
    // Where a clip does not say, its matrix is BT.601, as FFmpeg's own tools take it.
    sws_setColorspaceDetails(scaler.get(), sws_getCoefficients(frame.colorspace), full_range,
                             sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
  }

  FrameReader reader;
  VideoInfo info = {};
  int orientation = 1;
  // As stored, one plane a colour; rows are padded as the scaler likes.
  AvFrame pixels{allocated(av_frame_alloc())};
  Scaler scaler;
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
  state_->prepare_scaler(*frame);
  const AVFrame& planes = *state_->pixels;
  sws_scale(state_->scaler.get(), frame->data, frame->linesize, 0, frame->height, planes.data,
            planes.linesize);
  const Tensor pixels = to_tensor(planes);
  return upright(pixels, state_->orientation).contiguous();
}

bool video_is_built_in() { return true; }

}  // namespace perceiver
