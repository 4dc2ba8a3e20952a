#include "perceiver/media/frame_converter.h"

#include <ATen/ATen.h>

#include <cstring>
#include <new>
#include <vector>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

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

// Green, blue, red, alpha -> uint8 [C, H, W]. Row by row: ATen's copy would wait for all threads
// each time.
Tensor to_tensor(const AVFrame& planes) {
  const bool with_alpha = planes.format == AV_PIX_FMT_GBRAP;
  const Tensor pixels = at::empty({with_alpha ? 4 : 3, planes.height, planes.width}, at::kByte);
  uint8_t* out = pixels.data_ptr<uint8_t>();
  for (const int plane : with_alpha ? std::vector{2, 0, 1, 3} : std::vector{2, 0, 1}) {
    for (int y = 0; y < planes.height; ++y, out += planes.width) {
      std::memcpy(out, planes.data[plane] + int64_t{y} * planes.linesize[plane], planes.width);
    }
  }
  return pixels;
}

}  // namespace

FrameConverter::FrameConverter(std::string name, int height, int width, bool with_alpha)
    : name_(std::move(name)) {
  planes_->format = with_alpha ? AV_PIX_FMT_GBRAP : AV_PIX_FMT_GBRP;
  planes_->width = width;
  planes_->height = height;
  if (ffmpeg().av_frame_get_buffer(planes_.get(), 0) < 0) throw std::bad_alloc();
}

void FrameConverter::prepare_scaler(const AVFrame& frame) {
  const auto stored = static_cast<AVPixelFormat>(frame.format);
  const AVPixelFormat format = without_range(stored);
  scaler_.reset(ffmpeg().sws_getCachedContext(
      scaler_.release(), frame.width, frame.height, format, planes_->width, planes_->height,
      static_cast<AVPixelFormat>(planes_->format),
      SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
  if (!scaler_) fail("{}: cannot convert its pictures to RGB", name_);
  const bool full_range = frame.color_range == AVCOL_RANGE_JPEG || format != stored;
  // Where a file does not say, its matrix is BT.601, as FFmpeg's own tools take it.
  ffmpeg().sws_setColorspaceDetails(scaler_.get(), ffmpeg().sws_getCoefficients(frame.colorspace),
                                    full_range, ffmpeg().sws_getCoefficients(SWS_CS_DEFAULT), 1, 0,
                                    1 << 16, 1 << 16);
}

Tensor FrameConverter::operator()(const AVFrame& frame) {
  prepare_scaler(frame);
  ffmpeg().sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, planes_->data,
                     planes_->linesize);
  return to_tensor(*planes_);
}

}  // namespace perceiver
