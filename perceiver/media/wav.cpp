#include "perceiver/media/wav.h"

#include <ATen/ATen.h>

#include <cstring>
#include <optional>

#include "perceiver/core/error.h"
#include "perceiver/media/sound_container.h"

namespace perceiver {
namespace {

constexpr int64_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;
constexpr size_t kRiffHeader = 12, kChunkHeader = 8;
// In a stream the writer could not know: the sound goes on to the end.
constexpr int64_t kUnknownSize = 0xffffffff;
// Of 16 bits: sizes have 32, the header's included.
constexpr int64_t kMostSamples = (kUnknownSize - 44) / 2;

int64_t number(std::string_view bytes, size_t offset, size_t size) {
  int64_t value = 0;
  for (size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return value;
}

struct Format {
  int64_t code, channels, samples_per_second, bits;
};

Format read_format(const std::string& name, std::string_view chunk) {
  if (chunk.size() < 16) fail("{}: broken WAV: format of {} bytes", name, chunk.size());
  Format format{number(chunk, 0, 2), number(chunk, 2, 2), number(chunk, 4, 4),
                number(chunk, 14, 2)};
  if (format.code == kExtensible && chunk.size() >= 40) format.code = number(chunk, 24, 2);
  if (format.channels < 1 || format.samples_per_second < 1) {
    fail("{}: broken WAV: {} channels of {} samples a second", name, format.channels,
         format.samples_per_second);
  }
  return format;
}

struct Chunks {
  std::optional<Format> format;
  std::optional<std::string_view> data;
};

Chunks read_chunks(const File& file) {
  Chunks chunks;
  std::string_view rest = std::string_view(file.bytes).substr(kRiffHeader);
  while (rest.size() >= kChunkHeader && !chunks.data) {
    const std::string_view kind = rest.substr(0, 4);
    int64_t size = number(rest, 4, 4);
    rest.remove_prefix(kChunkHeader);
    const auto there = static_cast<int64_t>(rest.size());
    if (kind == "data" && size == kUnknownSize) size = there;
    if (size > there) {
      fail("{}: broken WAV: chunk of {} bytes where {} are left; cut short?", file.name, size,
           there);
    }
    if (kind == "fmt ") chunks.format = read_format(file.name, rest.substr(0, size));
    if (kind == "data") chunks.data = rest.substr(0, size);
    rest.remove_prefix(std::min(size + size % 2, there));
  }
  return chunks;
}

Tensor copy(std::string_view data, at::ScalarType dtype) {
  const auto size = static_cast<int64_t>(data.size() / c10::elementSize(dtype));
  const Tensor values = at::empty({size}, dtype);
  if (size > 0) std::memcpy(values.data_ptr(), data.data(), data.size());  // else no address
  return values;
}

// -> float [S * channels], or nothing for another format
std::optional<Tensor> to_samples(std::string_view data, const Format& format) {
  if (format.code == kFloat && format.bits == 32) return copy(data, at::kFloat);
  if (format.code == kFloat && format.bits == 64) return copy(data, at::kDouble).to(at::kFloat);
  if (format.code != kPcm) return std::nullopt;
  switch (format.bits) {
    case 8:
      return (copy(data, at::kByte).to(at::kFloat) - 128.0) / 128.0;
    case 16:
      return copy(data, at::kShort).to(at::kFloat) / 32768.0;
    case 24: {
      const Tensor bytes = copy(data, at::kByte).view({-1, 3}).to(at::kInt);
      const Tensor upper = bytes.select(1, 2);  // has the sign
      const Tensor value = bytes.select(1, 0) + bytes.select(1, 1) * 256 + upper * 65536 -
                           upper.ge(128).to(at::kInt) * (1 << 24);
      return value.to(at::kFloat) / 8388608.0;
    }
    case 32:
      return (copy(data, at::kInt).to(at::kDouble) / 2147483648.0).to(at::kFloat);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_wav(std::string_view bytes) {
  return bytes.size() >= kRiffHeader && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WAVE";
}

Sound decode_wav(const File& file) {
  const auto [format, data] = read_chunks(file);
  if (!format || !data) {
    fail("{}: broken WAV: no {}; cut short?", file.name, format ? "samples" : "format");
  }
  const int64_t block = format->channels * format->bits / 8;
  if (block == 0 || data->size() % block != 0) {
    if (format->code != kPcm && format->code != kFloat) return decode_sound_container(file);
    fail("{}: broken WAV: {} bytes of samples, expected a multiple of {}", file.name, data->size(),
         block);
  }
  const std::optional<Tensor> samples = to_samples(*data, *format);
  if (!samples) return decode_sound_container(file);
  if (samples->numel() == 0) fail("{}: has no samples", file.name);
  if (!samples->isfinite().all().item<bool>()) {
    fail("{}: broken WAV: a sample is not a finite number", file.name);
  }
  return {samples->view({-1, format->channels}).t().contiguous(), format->samples_per_second};
}

std::string encode_wav(const Sound& sound) {
  check_shape(sound.samples, {kAny, kAny}, "sound");
  if (sound.samples.numel() > kMostSamples) {
    fail("sound of {} samples, a WAV holds at most {}", sound.samples.numel(), kMostSamples);
  }
  const Tensor pcm = (sound.samples.to(at::kCPU, at::kDouble) * 32768.0)
                         .round()
                         .clamp(-32768, 32767)
                         .to(at::kShort)
                         .t()
                         .contiguous();
  const auto channels = static_cast<uint32_t>(sound.samples.size(0));
  const auto rate = static_cast<uint32_t>(sound.samples_per_second);
  const auto size = static_cast<uint32_t>(pcm.nbytes());
  std::string bytes;
  const auto put = [&](uint32_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  };
  bytes += "RIFF";
  put(size + 36, 4);
  bytes += "WAVEfmt ";
  put(16, 4);
  put(kPcm, 2);
  put(channels, 2);
  put(rate, 4);
  put(rate * channels * 2, 4);
  put(channels * 2, 2);
  put(16, 2);
  bytes += "data";
  put(size, 4);
  return bytes.append(static_cast<const char*>(pcm.data_ptr()), pcm.nbytes());
}

}  // namespace perceiver
