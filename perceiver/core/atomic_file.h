// A file that is written piece by piece and appears all at once.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>

#include "perceiver/core/interrupt.h"

namespace perceiver {

// Writes beside `path`; commit() renames, so that `path` is the old content or the new, never half.
// Without commit(), or after an interrupt, nothing is left. A device or a pipe is written to as it
// is: a rename would put a file in the place of /dev/null itself.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void seek(int64_t offset);  // what is written next goes there
  void commit();

 private:
  [[noreturn]] void fail_to_write(int error);

  std::filesystem::path path_, beside_;
  std::optional<RemoveOnInterrupt> on_interrupt_;
  std::FILE* stream_ = nullptr;
};

}  // namespace perceiver
