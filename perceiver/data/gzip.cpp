#include "perceiver/data/gzip.h"

#include <c10/util/Exception.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

constexpr size_t kInput = 64 << 10, kOutput = 128 << 10;

}  // namespace

GzipReader::GzipReader(const std::filesystem::path& path)
    : name_(path.string()),
      file_(path, std::ios::binary),
      input_(kInput, '\0'),
      stream_(std::make_unique<z_stream>()) {
  if (!file_) fail("{}: cannot open: {}", name_, std::strerror(errno));
  constexpr int kGzipAlone = 16;
  TORCH_INTERNAL_ASSERT(inflateInit2(stream_.get(), MAX_WBITS + kGzipAlone) == Z_OK);
}

GzipReader::~GzipReader() { inflateEnd(stream_.get()); }

int64_t GzipReader::position() const { return read_ - stream_->avail_in; }

bool GzipReader::refill() {
  file_.read(input_.data(), kInput);
  const auto got = static_cast<uInt>(file_.gcount());
  stream_->next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_->avail_in = got;
  read_ += got;
  return got > 0;
}

// Zeros may follow the last member: what is written on tape or in whole blocks is filled up.
bool GzipReader::begin_member() {
  for (;; ++stream_->next_in, --stream_->avail_in) {
    if (stream_->avail_in == 0 && !refill()) {
      if (read_ == 0) fail("{}: has no bytes, expected gzip; copy it again", name_);
      return false;
    }
    if (*stream_->next_in != 0 || position() == 0) break;
  }
  inflateReset(stream_.get());
  coming_ = position();
  return inside_ = true;
}

bool GzipReader::read(std::string& text) {
  constexpr int kBoundary = 128, kUnusedBits = 63;  // of data_type; see zlib.h
  const size_t before = text.size();
  while (inside_ || begin_member()) {
    if (stream_->avail_in == 0 && !refill()) {
      text.resize(before);
      fail("{}: ends after {} bytes in the middle of its text; copy it again", name_, read_);
    }
    const size_t at = text.size();
    text.resize(before + kOutput);
    stream_->next_out = reinterpret_cast<Bytef*>(text.data() + at);
    stream_->avail_out = static_cast<uInt>(text.size() - at);
    block_ = coming_;
    const int status = inflate(stream_.get(), Z_BLOCK);
    const bool full = stream_->avail_out == 0;
    text.resize(text.size() - stream_->avail_out);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      text.resize(before);
      fail("{}: is damaged before byte {} ({}); copy it again", name_, position(),
           stream_->msg != nullptr ? stream_->msg : "no gzip");
    }
    const bool ends = status == Z_STREAM_END;
    const bool at_boundary = ends || (stream_->data_type & kBoundary) != 0;
    if (at_boundary) coming_ = position() - (stream_->data_type & kUnusedBits) / 8;
    if (ends) inside_ = false;
    if (text.size() > before && (at_boundary || full)) return true;
  }
  return false;
}

std::string read_gzip(const std::filesystem::path& path, int64_t most) {
  GzipReader reader(path);
  std::string text;
  while (reader.read(text)) {
    if (std::ssize(text) > most) {
      fail("{}: has more text than the {} MiB that are held in memory", path.string(), most >> 20);
    }
  }
  return text;
}

}  // namespace perceiver
