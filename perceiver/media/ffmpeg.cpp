#include "perceiver/media/ffmpeg.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/media/picture_size.h"

namespace perceiver {

void FreeIo::operator()(AVIOContext* io) const {
  ffmpeg().av_freep(&io->buffer);
  ffmpeg().avio_context_free(&io);
}

std::string av_words(int error) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> words = {};
  ffmpeg().av_strerror(error, words.data(), words.size());
  words[0] = static_cast<char>(std::tolower(words[0]));
  return words.data();
}

void tame_ffmpeg() {
  ffmpeg().av_log_set_level(AV_LOG_QUIET);
  // It believes a header's sizes: a file of 100 bytes could take gigabytes. The largest picture we
  // read (picture_size.h) has 2^28 pixels of 1.5 bytes in the usual formats.
  ffmpeg().av_max_alloc(size_t{768} << 20);
}

int num_codec_threads(int64_t height, int64_t width) { return height * width < 512 * 512 ? 1 : 0; }

FrameReader::FrameReader(File file, AVMediaType type) : file_(std::move(file)) {
  tame_ffmpeg();
  open_container();
  open_decoder(type);
}

int FrameReader::take(void* self, uint8_t* out, int size) {
  auto& reader = *static_cast<FrameReader*>(self);
  const auto left = static_cast<int64_t>(reader.file_.bytes.size()) - reader.at_;
  if (left <= 0) return AVERROR_EOF;
  const auto taken = static_cast<int>(std::min<int64_t>(size, left));
  std::memcpy(out, reader.file_.bytes.data() + reader.at_, taken);
  reader.at_ += taken;
  return taken;
}

int64_t FrameReader::seek(void* self, int64_t offset, int whence) {
  auto& reader = *static_cast<FrameReader*>(self);
  const auto size = static_cast<int64_t>(reader.file_.bytes.size());
  if (whence & AVSEEK_SIZE) return size;
  const int64_t from[] = {0, reader.at_, size};  // SEEK_SET, SEEK_CUR, SEEK_END
  const int64_t to = from[whence & 3] + offset;
  if ((whence & 3) > SEEK_END || to < 0) return AVERROR(EINVAL);
  return reader.at_ = to;
}

void FrameReader::open_container() {
  io_.reset(allocated(ffmpeg().avio_alloc_context(
      static_cast<uint8_t*>(ffmpeg().av_malloc(kIoBufferBytes)), kIoBufferBytes,
      /*write_flag=*/0, this, take, nullptr, seek)));
  AVFormatContext* container = allocated(ffmpeg().avformat_alloc_context());
  container->pb = io_.get();
  // A playlist may name other files and addresses: nothing but these bytes is ever opened.
  container->io_open = [](AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
    return AVERROR(EACCES);
  };
  AVDictionary* options = nullptr;
  ffmpeg().av_dict_set(&options, "protocol_whitelist", "none", 0);
  // Without a name, by content alone: by its name a .txt would be a film of a terminal.
  int result = ffmpeg().avformat_open_input(&container, nullptr, nullptr, &options);
  ffmpeg().av_dict_free(&options);
  container_.reset(result < 0 ? nullptr : container);
  if (result >= 0) result = ffmpeg().avformat_find_stream_info(container_.get(), nullptr);
  if (result < 0) fail("{}: not a video or sound: {}", file_.name, av_words(result));
}

bool FrameReader::has(AVMediaType type) {
  const int index = ffmpeg().av_find_best_stream(container_.get(), type, -1, -1, nullptr, 0);
  return index >= 0 &&
         !(container_->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC);  // a cover
}

// Some containers begin with a table of what lies where, and FFmpeg is content with what is there.
void FrameReader::check_index() {
  const auto size = static_cast<int64_t>(file_.bytes.size());
  int64_t end = 0;
  for (int i = 0; i < ffmpeg().avformat_index_get_entries_count(stream_); ++i) {
    const AVIndexEntry* entry = ffmpeg().avformat_index_get_entry(stream_, i);
    end = std::max(end, entry->pos + entry->size);
  }
  if (end > size) {
    fail("{}: {} bytes, its table of contents goes on to {}; cut short?", file_.name, size, end);
  }
}

void FrameReader::open_decoder(AVMediaType type) {
  const char* kind = type == AVMEDIA_TYPE_VIDEO ? "picture" : "sound";
  if (!has(type)) fail("{}: has no {}", file_.name, kind);
  const int index = ffmpeg().av_find_best_stream(container_.get(), type, -1, -1, nullptr, 0);
  stream_ = container_->streams[index];
  check_index();
  const AVCodec* decoder = ffmpeg().avcodec_find_decoder(stream_->codecpar->codec_id);
  if (!decoder) {
    fail("{}: no decoder for its {} ({})", file_.name, kind,
         ffmpeg().avcodec_get_name(stream_->codecpar->codec_id));
  }
  codec_.reset(allocated(ffmpeg().avcodec_alloc_context3(decoder)));
  codec_->pkt_timebase = stream_->time_base;
  codec_->max_pixels = most_pixels_read;
  int result = ffmpeg().avcodec_parameters_to_context(codec_.get(), stream_->codecpar);
  codec_->thread_count = num_codec_threads(codec_->height, codec_->width);
  if (result >= 0) result = ffmpeg().avcodec_open2(codec_.get(), decoder, nullptr);
  if (result < 0) fail("{}: cannot decode its {}: {}", file_.name, kind, av_words(result));
}

void FrameReader::send_packet() {
  int result = 0;
  do {
    ffmpeg().av_packet_unref(packet_.get());
    result = ffmpeg().av_read_frame(container_.get(), packet_.get());
  } while (result >= 0 && packet_->stream_index != stream_->index);
  if (result == AVERROR_EOF) {
    ffmpeg().avcodec_send_packet(codec_.get(), nullptr);
    return;
  }
  if (result < 0) fail("{}: cannot read on: {}", file_.name, av_words(result));
  if (packet_->flags & AV_PKT_FLAG_CORRUPT) fail("{}: broken; cut short?", file_.name);
  result = ffmpeg().avcodec_send_packet(codec_.get(), packet_.get());
  // A recording may begin in the middle, with what cannot be decoded without what came before.
  if (result < 0 && has_decoded_) fail("{}: cannot decode: {}", file_.name, av_words(result));
}

AVFrame* FrameReader::next() {
  for (;;) {
    const int result = ffmpeg().avcodec_receive_frame(codec_.get(), frame_.get());
    if (result == AVERROR_EOF) {
      if (!has_decoded_) fail("{}: nothing in it can be decoded; cut short?", file_.name);
      return nullptr;
    }
    if (result >= 0) {
      has_decoded_ = true;
      return frame_.get();
    }
    if (result != AVERROR(EAGAIN) && has_decoded_) {
      fail("{}: cannot decode: {}", file_.name, av_words(result));
    }
    send_packet();
  }
}

}  // namespace perceiver
