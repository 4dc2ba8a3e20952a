// Gzip files for tests.
#pragma once

#include <zlib.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {

// The text as one member.
inline std::string gzip(std::string_view text, int level = 6) {
  z_stream stream = {};
  constexpr int kGzip = 16;
  if (deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    fail("deflateInit2");
  }
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int status = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) fail("deflate");
  return bytes;
}

inline void write_gzip(const std::filesystem::path& path, std::string_view text) {
  write_file(path, gzip(text));
}

}  // namespace perceiver
