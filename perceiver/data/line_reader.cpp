#include "perceiver/data/line_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/data/text_files.h"

namespace perceiver {
namespace {

constexpr size_t kBlock = 256 << 10;

std::ifstream open(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  return stream;
}

int64_t line_breaks(const std::filesystem::path& path, int64_t bytes) {
  std::ifstream file = open(path);
  std::string block(kBlock, '\0');
  int64_t count = 0;
  while (bytes > 0 && file) {
    file.read(block.data(), std::min<int64_t>(bytes, kBlock));
    count += std::count(block.begin(), block.begin() + file.gcount(), '\n');
    bytes -= file.gcount();
  }
  return count;
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path, int64_t begin) : path_(path) {
  if (is_gzip(path)) {
    gzip_ = std::make_unique<GzipReader>(path);
    return;
  }
  plain_ = open(path);
  if (begin == 0) return;
  // From the byte before: where that is a line break, a line begins at `begin`.
  buffer_offset_ = first_offset_ = begin - 1;
  plain_.seekg(begin - 1);
  if (line() != nullptr) advance();
  first_offset_ = buffer_offset_ + static_cast<int64_t>(at_);
  lines_read_ = 0;
}

bool LineReader::fill() {
  buffer_.erase(0, at_);
  buffer_offset_ += static_cast<int64_t>(at_);
  at_ = 0;
  const size_t size = buffer_.size();
  const int64_t offset = buffer_offset_ + static_cast<int64_t>(size);
  if (gzip_) {
    if (!gzip_->read(buffer_)) return false;
    blocks_.push_back({offset, gzip_->block()});
    return true;
  }
  buffer_.resize(size + kBlock);
  plain_.read(buffer_.data() + size, kBlock);
  buffer_.resize(size + plain_.gcount());
  return buffer_.size() > size;
}

int64_t LineReader::position_of(int64_t offset) {
  if (!gzip_) return offset;
  while (blocks_.size() > 1 && blocks_[1].offset <= offset) blocks_.pop_front();
  return blocks_.front().position;
}

const TextLine* LineReader::line() {
  if (has_line_) return &line_;
  size_t end = buffer_.find('\n', at_);
  while (end == buffer_.npos) {
    const size_t searched = buffer_.size() - at_;
    if (static_cast<int64_t>(searched) > kLongestLine) {
      fail("{}: a line of more than {} MiB, expected a document a line", place(),
           kLongestLine >> 20);
    }
    if (!fill()) {
      if (buffer_.empty()) return nullptr;
      end = buffer_.size();
    } else {
      end = buffer_.find('\n', searched);
    }
  }
  const int64_t offset = buffer_offset_ + static_cast<int64_t>(at_);
  line_ = {std::string_view(buffer_).substr(at_, end - at_), offset, position_of(offset)};
  has_line_ = true;
  return &line_;
}

void LineReader::advance() {
  at_ = std::min(buffer_.size(), at_ + line_.text.size() + 1);
  has_line_ = false;
  ++lines_read_;
}

std::string LineReader::place() {
  if (lines_before_ < 0) lines_before_ = gzip_ ? 0 : line_breaks(path_, first_offset_);
  return fmt::format("{}:{}", path_.string(), lines_before_ + lines_read_ + 1);
}

}  // namespace perceiver
