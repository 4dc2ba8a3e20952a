#include "perceiver/media/stream_reader.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "perceiver/core/error.h"
#include "perceiver/media/picture_size.h"

namespace perceiver {
namespace {

constexpr std::chrono::seconds kLongestSilence{10};

// Cameras are FFmpeg's devices, which are a library of their own with a hundred of others behind
// it.
const AVInputFormat* camera_format(const std::string& address) {
  const std::string name = fmt::format("libavdevice.so.{}", LIBAVFORMAT_VERSION_MAJOR);
  void* devices = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  using Register = void (*)();
  const auto enlist =
      devices ? reinterpret_cast<Register>(dlsym(devices, "avdevice_register_all")) : nullptr;
  if (!enlist) {
    fail("{}: a camera needs FFmpeg's {} (Debian: apt-get install libavdevice{})", address, name,
         LIBAVFORMAT_VERSION_MAJOR);
  }
  enlist();
  return ffmpeg().av_find_input_format("v4l2");
}

}  // namespace

StreamReader::StreamReader(const std::string& address) : address_(address) {
  tame_ffmpeg();
  open();
  open_decoder();
}

int StreamReader::must_end(void* self) {
  const auto& reader = *static_cast<StreamReader*>(self);
  return reader.stopped_ || Clock::now() - reader.last_word_ > kLongestSilence;
}

void StreamReader::open() {
  const AVInputFormat* format = address_.starts_with("/dev/") ? camera_format(address_) : nullptr;
  AVFormatContext* container = allocated(ffmpeg().avformat_alloc_context());
  container->interrupt_callback = {must_end, this};
  container->max_analyze_duration = AV_TIME_BASE / 2;  // of the stream's time
  AVDictionary* options = nullptr;
  ffmpeg().av_dict_set(&options, "rtsp_transport", "tcp", 0);  // whoever knows no such thing
  int result = ffmpeg().avformat_open_input(&container, address_.c_str(), format, &options);
  ffmpeg().av_dict_free(&options);
  container_.reset(result < 0 ? nullptr : container);
  if (result >= 0) result = ffmpeg().avformat_find_stream_info(container_.get(), nullptr);
  if (result == AVERROR_EXIT) {
    fail("{}: cannot open: nothing came for {} seconds", address_, kLongestSilence.count());
  }
  if (result < 0) fail("{}: cannot open: {}", address_, av_words(result));
}

void StreamReader::open_decoder() {
  const AVCodec* decoder = nullptr;
  const int index =
      ffmpeg().av_find_best_stream(container_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (index < 0 || !decoder) fail("{}: has no picture that can be decoded", address_);
  stream_ = container_->streams[index];
  codec_.reset(allocated(ffmpeg().avcodec_alloc_context3(decoder)));
  codec_->pkt_timebase = stream_->time_base;
  codec_->max_pixels = most_pixels_read;
  codec_->flags |= AV_CODEC_FLAG_LOW_DELAY;
  codec_->thread_count = 1;  // more would hold frames back
  int result = ffmpeg().avcodec_parameters_to_context(codec_.get(), stream_->codecpar);
  if (result >= 0) result = ffmpeg().avcodec_open2(codec_.get(), decoder, nullptr);
  if (result < 0) fail("{}: cannot decode its picture: {}", address_, av_words(result));
}

bool StreamReader::send_packet() {
  int result = 0;
  do {
    last_word_ = Clock::now();
    ffmpeg().av_packet_unref(packet_.get());
    result = ffmpeg().av_read_frame(container_.get(), packet_.get());
    if (stopped_ || result == AVERROR_EOF) return false;
  } while (result == AVERROR(EAGAIN) || (result >= 0 && packet_->stream_index != stream_->index));
  if (result == AVERROR_EXIT) {
    fail("{}: nothing came for {} seconds", address_, kLongestSilence.count());
  }
  // What FFmpeg calls the end of an answer over HTTP whose length was not told.
  const bool ended =
      result == AVERROR(EIO) && container_->pb && ffmpeg().avio_size(container_->pb) < 0;
  if (ended) return false;
  if (result < 0) fail("{}: broke off: {}", address_, av_words(result));
  ffmpeg().avcodec_send_packet(codec_.get(), packet_.get());
  return true;
}

std::optional<Tensor> StreamReader::next() {
  for (bool ended = false;;) {
    const int result = ffmpeg().avcodec_receive_frame(codec_.get(), frame_.get());
    if (result >= 0) break;
    if (result == AVERROR_EOF || ended) return std::nullopt;
    if (!send_packet()) {
      ended = stopped_ || ffmpeg().avcodec_send_packet(codec_.get(), nullptr) < 0;
    }
  }
  const AVFrame& frame = *frame_;
  if (!first_time_ && frame.pts != AV_NOPTS_VALUE) first_time_ = frame.pts;
  if (!pixels_) {
    check_picture_size(address_, frame.height, frame.width);
    pixels_.emplace(address_, frame.height, frame.width);
  }
  return (*pixels_)(frame);
}

double StreamReader::frames_per_second() const {
  const AVRational rate = ffmpeg().av_guess_frame_rate(container_.get(), stream_, nullptr);
  return rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 25.0;
}

std::optional<double> StreamReader::due() const {
  const bool is_recording =
      container_->pb && (container_->pb->seekable & AVIO_SEEKABLE_NORMAL) != 0;
  if (!is_recording || !first_time_ || frame_->pts == AV_NOPTS_VALUE) return {};
  return static_cast<double>(frame_->pts - *first_time_) * av_q2d(stream_->time_base);
}

}  // namespace perceiver
