// FFmpeg's libraries: owners of their objects, and the frames of a file in memory. Only built where
// the libraries are.
#pragma once

#include <memory>
#include <string>

#include "perceiver/core/file.h"
#include "perceiver/media/ffmpeg_functions.h"

namespace perceiver {

// For functions that take the address of a pointer, and those that take the pointer.
template <auto kFree>
struct FreeAtAddress {
  template <typename T>
  void operator()(T* object) const {
    (ffmpeg().*kFree)(&object);
  }
};
struct FreeIo {
  void operator()(AVIOContext* io) const;  // and its buffer
};
struct FreeScaler {
  void operator()(SwsContext* scaler) const { ffmpeg().sws_freeContext(scaler); }
};

using AvCodec = std::unique_ptr<AVCodecContext, FreeAtAddress<&Ffmpeg::avcodec_free_context>>;
using AvFrame = std::unique_ptr<AVFrame, FreeAtAddress<&Ffmpeg::av_frame_free>>;
using AvPacket = std::unique_ptr<AVPacket, FreeAtAddress<&Ffmpeg::av_packet_free>>;
using AvInput = std::unique_ptr<AVFormatContext, FreeAtAddress<&Ffmpeg::avformat_close_input>>;
using AvIo = std::unique_ptr<AVIOContext, FreeIo>;
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;

// What FFmpeg calls an error, in lower case.
std::string av_words(int error);

// `object`, or std::bad_alloc.
template <typename T>
T* allocated(T* object) {
  if (!object) throw std::bad_alloc();
  return object;
}

// FFmpeg writes to stderr unless told not to. Called before everything else.
void tame_ffmpeg();  // no words on stderr, no gigabytes for a small file; call it first

// For pictures of this size: 0, which is as many as the machine has, or 1 where handing them to
// another thread costs more than it saves.
int num_codec_threads(int64_t height, int64_t width);

// Where FFmpeg keeps what it has read ahead, or not yet written.
constexpr int kIoBufferBytes = 1 << 16;

// The decoded frames of the best stream of a kind, one after another.
class FrameReader {
 public:
  FrameReader(File file, AVMediaType type);  // fails where there is none
  FrameReader(const FrameReader&) = delete;

  // Valid until the next call; null after the last.
  AVFrame* next();

  const std::string& name() const { return file_.name; }
  AVFormatContext& container() { return *container_; }
  AVStream& stream() { return *stream_; }
  const AVCodecContext& codec() const { return *codec_; }
  bool has(AVMediaType type);

 private:
  static int take(void* self, uint8_t* out, int size);
  static int64_t seek(void* self, int64_t offset, int whence);
  void open_container();
  void check_index();
  void open_decoder(AVMediaType type);
  void send_packet();

  File file_;
  int64_t at_ = 0;  // in the file's bytes
  AvIo io_;
  AvInput container_;
  AVStream* stream_ = nullptr;
  AvCodec codec_;
  AvPacket packet_{allocated(ffmpeg().av_packet_alloc())};
  AvFrame frame_{allocated(ffmpeg().av_frame_alloc())};
  bool has_decoded_ = false;
};

}  // namespace perceiver
