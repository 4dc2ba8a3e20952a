#include "perceiver/core/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "perceiver/core/error.h"

namespace perceiver {

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), beside_(path_) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path_, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    beside_ += fmt::format(".{}.part", getpid());
    on_interrupt_.emplace(beside_);
  }
  stream_ = std::fopen(beside_.c_str(), "wb");
  if (!stream_) fail_to_write(errno);
}

AtomicFile::~AtomicFile() {
  if (!stream_) return;
  std::fclose(stream_);
  std::error_code ignored;
  if (beside_ != path_) std::filesystem::remove(beside_, ignored);
}

void AtomicFile::write(std::string_view bytes) {
  if (bytes.empty()) return;  // an empty tensor has no address
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size()) fail_to_write(errno);
}

void AtomicFile::seek(int64_t offset) {
  if (fseeko(stream_, offset, SEEK_SET) != 0) fail_to_write(errno);
}

void AtomicFile::commit() {
  if (std::fflush(stream_) != 0) fail_to_write(errno);
  if (beside_ != path_ && std::rename(beside_.c_str(), path_.c_str()) != 0) fail_to_write(errno);
  std::fclose(stream_);
  stream_ = nullptr;
  on_interrupt_.reset();
}

void AtomicFile::fail_to_write(int error) {
  fail("{}: cannot write: {}", path_.string(), std::strerror(error));
}

}  // namespace perceiver
