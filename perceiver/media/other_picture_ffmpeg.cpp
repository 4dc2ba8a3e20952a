#include <ATen/ATen.h>

#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/media/ffmpeg.h"
#include "perceiver/media/frame_converter.h"
#include "perceiver/media/orientation.h"
#include "perceiver/media/other_picture.h"
#include "perceiver/media/picture_size.h"

namespace perceiver {
namespace {

AVCodecID codec_of(std::string_view format) {
  if (format == "WebP") return AV_CODEC_ID_WEBP;
  if (format == "GIF") return AV_CODEC_ID_GIF;
  return format == "BMP" ? AV_CODEC_ID_BMP : AV_CODEC_ID_TIFF;
}

AvCodec decoder_of(const File& file, std::string_view format) {
  const AVCodec* decoder = ffmpeg().avcodec_find_decoder(codec_of(format));
  if (!decoder) {
    fail("{}: {}, for which this FFmpeg has no decoder; convert it to PNG", file.name, format);
  }
  AvCodec codec(allocated(ffmpeg().avcodec_alloc_context3(decoder)));
  codec->max_pixels = most_pixels_read;
  codec->thread_count = 1;
  // In a TIFF even a tag that FFmpeg does not know would count as a mistake.
  if (format != "TIFF") codec->err_recognition = AV_EF_EXPLODE;
  if (ffmpeg().avcodec_open2(codec.get(), decoder, nullptr) < 0) throw std::bad_alloc();
  return codec;
}

// These formats are read without a container: the file is the one packet of their decoder, which
// ends with the first picture.
AvFrame first_picture(const File& file, std::string_view format) {
  tame_ffmpeg();
  const AvCodec codec = decoder_of(file, format);
  const AvPacket packet(allocated(ffmpeg().av_packet_alloc()));
  if (ffmpeg().av_new_packet(packet.get(), static_cast<int>(file.bytes.size())) < 0)
    throw std::bad_alloc();
  std::memcpy(packet->data, file.bytes.data(), file.bytes.size());
  packet->flags = AV_PKT_FLAG_KEY;
  AvFrame frame(allocated(ffmpeg().av_frame_alloc()));
  int result = ffmpeg().avcodec_send_packet(codec.get(), packet.get());
  if (result >= 0) result = ffmpeg().avcodec_receive_frame(codec.get(), frame.get());
  if (result == AVERROR(EINVAL) || result == AVERROR(ENOMEM)) {  // a size it refuses
    fail("{}: {} of more than the {} pixels that are read", file.name, format,
         most_pixels_read.load());
  }
  if (result < 0) fail("{}: broken {}: {}; cut short?", file.name, format, av_words(result));
  return frame;
}

Tensor pixels_of(const std::string& name, const AVFrame& frame) {
  const AVPixFmtDescriptor* format =
      ffmpeg().av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const bool with_alpha = format && (format->flags & AV_PIX_FMT_FLAG_ALPHA);
  return FrameConverter(name, frame.height, frame.width, with_alpha)(frame);
}

size_t little_endian(std::string_view bytes) {
  size_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The part of a RIFF file with this name, or nothing: after 12 bytes each has a name, a size and
// that many bytes, made even.
std::string_view riff_chunk(std::string_view bytes, std::string_view name) {
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const size_t size = little_endian(bytes.substr(at + 4, 4));
    if (bytes.substr(at, 4) == name) return bytes.substr(at + 8, size);
    at += 8 + size + size % 2;
  }
  return "";
}

int orientation_of(const File& file, std::string_view format) {
  const std::string start("Exif\0\0", 6);
  if (format == "TIFF") return exif_orientation(start + file.bytes);  // EXIF is a small TIFF
  if (format != "WebP") return 1;
  const std::string exif(riff_chunk(file.bytes, "EXIF"));
  return exif_orientation(exif.starts_with(start) ? exif : start + exif);
}

// FFmpeg reads an AVIF as a video of one frame.
Tensor decode_avif(const File& file) {
  try {
    FrameReader reader(file, AVMEDIA_TYPE_VIDEO);
    if (reader.container().nb_streams > 1) fail("is made of several pictures");
    return pixels_of(file.name, *reader.next());
  } catch (const Error& error) {
    const std::string reason = error.what(), place = file.name + ": ";
    fail("{}: AVIF that this FFmpeg cannot read ({}); convert it to PNG", file.name,
         reason.starts_with(place) ? reason.substr(place.size()) : reason);
  }
}

// FFmpeg would fill up what is missing of these.
void check_is_whole(const File& file, std::string_view format) {
  const std::string_view bytes = file.bytes;
  // The size that a BMP says it has; and the mark at the end of a GIF, where zeros may follow.
  const bool cut = format == "BMP"   ? little_endian(bytes.substr(2, 4)) > bytes.size()
                   : format == "GIF" ? bytes[bytes.find_last_not_of('\0')] != ';'
                                     : false;
  if (cut) fail("{}: broken {}: cut short", file.name, format);
}

// An animation has an ANIM chunk, and its pictures in ANMF chunks.
void check_is_still(const File& file) {
  if (riff_chunk(file.bytes, "ANIM").empty()) return;
  fail("{}: animated WebP, which is not read; save one of its pictures as PNG", file.name);
}

}  // namespace

Tensor decode_other_picture(const File& file) {
  const std::string_view format = other_picture_format(file.bytes);
  if (format == "HEIC") fail("{}: HEIC, which is not read; convert it to JPEG or PNG", file.name);
  if (format == "AVIF") return decode_avif(file);
  if (format == "WebP") check_is_still(file);
  check_is_whole(file, format);
  const AvFrame frame = first_picture(file, format);
  return upright(pixels_of(file.name, *frame), orientation_of(file, format)).contiguous();
}

}  // namespace perceiver
