#include "perceiver/media/muxer.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/media/encoders.h"

namespace perceiver {
namespace {

// For encoders that take any number of samples at once.
constexpr int64_t kSamplesPerFrame = 1024;

// Colours are stored for two by two pixels.
int64_t even(int64_t size) { return size + size % 2; }

// pixels uint8 [3, H, W] -> green, blue, red; rows and columns beyond them repeat the last.
void to_planes(const Tensor& pixels, AVFrame& planes) {
  const int64_t height = pixels.size(1), width = pixels.size(2);
  const uint8_t* in = pixels.const_data_ptr<uint8_t>();
  for (const int plane : {2, 0, 1}) {
    for (int64_t y = 0; y < planes.height; ++y) {
      const uint8_t* row = in + std::min(y, height - 1) * width;
      uint8_t* out = planes.data[plane] + y * planes.linesize[plane];
      std::fill(std::copy(row, row + width, out), out + planes.width, row[width - 1]);
    }
    in += height * width;
  }
}

AvFrame picture_frame(const AVCodecContext& encoder, AVPixelFormat format) {
  AvFrame frame(allocated(ffmpeg().av_frame_alloc()));
  frame->format = format;
  frame->width = encoder.width;
  frame->height = encoder.height;
  if (ffmpeg().av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  return frame;
}

}  // namespace

Muxer::Muxer(const std::filesystem::path& path, const AVOutputFormat& container,
             const VideoFormat& format)
    : file_(path), packet_(allocated(ffmpeg().av_packet_alloc())), pending_(at::empty({0})) {
  AVFormatContext* output = nullptr;
  file_.check(ffmpeg().avformat_alloc_output_context2(&output, &container, nullptr, nullptr));
  output_.reset(output);
  output_->pb = file_.io();
  output_->flags |= AVFMT_FLAG_CUSTOM_IO;

  VideoFormat extended = format;
  extended.height = even(format.height);
  extended.width = even(format.width);
  AvCodec video = open_video_encoder(container, extended);
  if (!video) {
    fail("{}: no encoder for {} x {} pixels at {} frames a second; try .mkv", path.string(),
         format.width, format.height, format.frames_per_second);
  }
  video_ = make_track(std::move(video));
  make_picture_frames();
  if (format.samples_per_second) {
    AvCodec audio = open_audio_encoder(container, *format.samples_per_second);
    if (!audio) {
      fail("{}: no encoder for sound of {} samples a second; try 48000, or .mkv", path.string(),
           *format.samples_per_second);
    }
    audio_ = make_track(std::move(audio));
  }
  file_.check(ffmpeg().avformat_write_header(output_.get(), nullptr));
}

Muxer::Track Muxer::make_track(AvCodec encoder) {
  AVStream* stream = allocated(ffmpeg().avformat_new_stream(output_.get(), nullptr));
  file_.check(ffmpeg().avcodec_parameters_from_context(stream->codecpar, encoder.get()));
  stream->time_base = encoder->time_base;
  stream->avg_frame_rate = encoder->framerate;
  return {std::move(encoder), stream, nullptr, 0};
}

void Muxer::make_picture_frames() {
  const AVCodecContext& encoder = *video_.encoder;
  video_.frame = picture_frame(encoder, encoder.pix_fmt);
  planes_ = picture_frame(encoder, AV_PIX_FMT_GBRP);
  scaler_.reset(allocated(ffmpeg().sws_getContext(
      encoder.width, encoder.height, AV_PIX_FMT_GBRP, encoder.width, encoder.height,
      encoder.pix_fmt, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr, nullptr,
      nullptr)));
  ffmpeg().sws_setColorspaceDetails(scaler_.get(), ffmpeg().sws_getCoefficients(SWS_CS_DEFAULT), 1,
                                    ffmpeg().sws_getCoefficients(encoder.colorspace), 0, 0, 1 << 16,
                                    1 << 16);
}

void Muxer::encode(Track& track, const AVFrame* frame) {
  file_.check(ffmpeg().avcodec_send_frame(track.encoder.get(), frame));
  for (;;) {
    const int result = ffmpeg().avcodec_receive_packet(track.encoder.get(), packet_.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
    file_.check(result);
    if (packet_->duration == 0 && &track == &video_) packet_->duration = 1;
    ffmpeg().av_packet_rescale_ts(packet_.get(), track.encoder->time_base, track.stream->time_base);
    packet_->stream_index = track.stream->index;
    file_.check(ffmpeg().av_interleaved_write_frame(output_.get(), packet_.get()));
  }
}

void Muxer::write(const Tensor& frame) {
  to_planes(frame.cpu().contiguous(), *planes_);
  // An encoder may still hold the frame before.
  file_.check(ffmpeg().av_frame_make_writable(video_.frame.get()));
  ffmpeg().sws_scale(scaler_.get(), planes_->data, planes_->linesize, 0, planes_->height,
                     video_.frame->data, video_.frame->linesize);
  video_.frame->pts = video_.at++;
  encode(video_, video_.frame.get());
}

void Muxer::encode_samples(const Tensor& samples) {
  const AVCodecContext& encoder = *audio_.encoder;
  AvFrame frame(allocated(ffmpeg().av_frame_alloc()));
  frame->format = encoder.sample_fmt;
  frame->nb_samples = static_cast<int>(samples.size(0));
  frame->sample_rate = encoder.sample_rate;
  file_.check(ffmpeg().av_channel_layout_copy(&frame->ch_layout, &encoder.ch_layout));
  if (ffmpeg().av_frame_get_buffer(frame.get(), 0) < 0) throw std::bad_alloc();
  const bool in_floats = encoder.sample_fmt != AV_SAMPLE_FMT_S16;
  at::from_blob(frame->data[0], {samples.size(0)}, in_floats ? at::kFloat : at::kShort)
      .copy_(in_floats ? samples : samples.mul(32767.0).round());
  frame->pts = audio_.at;
  audio_.at += frame->nb_samples;
  encode(audio_, frame.get());
}

void Muxer::write_samples(const Tensor& samples) {
  pending_ = at::cat({pending_, samples.to(at::kCPU, at::kFloat).clamp(-1.0, 1.0)});
  const int64_t asked = audio_.encoder->frame_size, size = asked > 0 ? asked : kSamplesPerFrame;
  int64_t done = 0;
  for (; done + size <= pending_.size(0); done += size) {
    encode_samples(pending_.narrow(0, done, size));
  }
  pending_ = pending_.narrow(0, done, pending_.size(0) - done).clone();
}

void Muxer::finish() {
  encode(video_, nullptr);
  if (audio_.encoder) {
    if (pending_.size(0) > 0) encode_samples(pending_);
    encode(audio_, nullptr);
  }
  file_.check(ffmpeg().av_write_trailer(output_.get()));
  file_.commit();
}

std::unique_ptr<VideoSink> open_container(const std::filesystem::path& path,
                                          const VideoFormat& format) {
  if (!video_is_built_in()) return nullptr;
  tame_ffmpeg();
  const AVOutputFormat* container = container_of(path);
  if (!container || !has_video_encoder(*container)) return nullptr;
  return std::make_unique<Muxer>(path, *container, format);
}

}  // namespace perceiver
