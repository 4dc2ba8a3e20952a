// A file that FFmpeg writes to and that appears all at once. Only built where its libraries are.
#pragma once

#include <exception>
#include <string>

#include "perceiver/core/atomic_file.h"
#include "perceiver/media/ffmpeg.h"

namespace perceiver {

class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  OutputFile(const OutputFile&) = delete;

  AVIOContext* io() { return io_.get(); }

  // Fails where one of FFmpeg's functions did: with the file's own error if it has one.
  void check(int result);

  void commit();

 private:
  // Some versions of FFmpeg give bytes that may not be written to.
  template <typename Byte>
  static int put(void* self, Byte* bytes, int size);
  static int64_t seek(void* self, int64_t offset, int whence);

  std::string name_;
  AtomicFile file_;
  int64_t at_ = 0, size_ = 0;
  std::exception_ptr error_;  // kept until C is left behind
  AvIo io_;
};

}  // namespace perceiver
