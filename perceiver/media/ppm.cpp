#include "perceiver/media/ppm.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "perceiver/media/picture_size.h"

namespace perceiver {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct Header {
  int64_t width, height, largest;
  size_t size;  // in bytes; the pixels follow
};

// A number after white space and comments, which go from # to the end of the line.
int64_t next_number(const File& file, size_t& at, const char* what) {
  const std::string& bytes = file.bytes;
  while (at < bytes.size() && (is_space(bytes[at]) || bytes[at] == '#')) {
    if (bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size());
    if (at < bytes.size()) ++at;
  }
  const size_t begin = at;
  int64_t number = 0;
  for (; at < bytes.size() && is_digit(bytes[at]) && at - begin < 10; ++at) {
    number = number * 10 + (bytes[at] - '0');
  }
  if (at == begin) fail("{}: broken PPM: byte {}: expected the {}", file.name, at, what);
  return number;
}

Header read_header(const File& file) {
  size_t at = 2;
  Header header = {};
  header.width = next_number(file, at, "width");
  header.height = next_number(file, at, "height");
  header.largest = next_number(file, at, "largest value");
  if (header.largest < 1 || header.largest > 65535) {
    fail("{}: broken PPM: largest value {}, expected 1 to 65535", file.name, header.largest);
  }
  if (at >= file.bytes.size() || !is_space(file.bytes[at])) {
    fail("{}: broken PPM: byte {}: expected white space before the pixels", file.name, at);
  }
  header.size = at + 1;
  check_picture_size(file.name, header.height, header.width);
  return header;
}

// bytes [..., 2], the upper first -> int [...]
Tensor join_bytes(const Tensor& bytes) {
  const Tensor wide = bytes.to(at::kInt);
  return wide.select(-1, 0) * 256 + wide.select(-1, 1);
}

}  // namespace

bool is_ppm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6') &&
         (is_space(bytes[2]) || bytes[2] == '#');
}

Tensor decode_ppm(const File& file) {
  const Header header = read_header(file);
  const int64_t channels = file.bytes[1] == '6' ? 3 : 1,
                width_of_sample = header.largest > 255 ? 2 : 1;
  const int64_t expected = header.height * header.width * channels * width_of_sample;
  const auto got = static_cast<int64_t>(file.bytes.size() - header.size);
  if (got < expected) {
    fail("{}: broken PPM: {} bytes of pixels, expected {}; cut short?", file.name, got, expected);
  }
  const char* const first = file.bytes.data() + header.size;
  // Whoever reads a view does not write: the clone is what is handed on.
  const Tensor bytes = at::from_blob(const_cast<char*>(first), {expected}, at::kByte).clone();
  const Tensor samples = (width_of_sample == 2 ? join_bytes(bytes.view({-1, 2})) : bytes)
                             .view({header.height, header.width, channels})
                             .permute({2, 0, 1});
  if (header.largest == 255) return samples;
  const auto most = samples.max().item<int64_t>();
  if (most > header.largest) {
    fail("{}: broken PPM: value {} above the largest, {}", file.name, most, header.largest);
  }
  if (header.largest == 65535) return samples.bitwise_right_shift(8).to(at::kByte);
  return (samples.to(at::kFloat) * 255.0 / header.largest).round().to(at::kByte);
}

std::string encode_ppm(const Tensor& pixels) {
  const Tensor rows = pixels.permute({1, 2, 0}).contiguous();
  std::string bytes = fmt::format("P6\n{} {}\n255\n", pixels.size(2), pixels.size(1));
  bytes.append(reinterpret_cast<const char*>(rows.const_data_ptr<uint8_t>()),
               static_cast<size_t>(rows.numel()));
  return bytes;
}

}  // namespace perceiver
