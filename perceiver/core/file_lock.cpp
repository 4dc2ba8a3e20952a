#include "perceiver/core/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "perceiver/core/error.h"

namespace perceiver {

using namespace std::chrono_literals;

// Without O_CLOEXEC: children keep what is locked.
FileLock::FileLock(const std::filesystem::path& path, std::chrono::milliseconds patience)
    : file_(open(path.c_str(), O_RDONLY)) {
  if (file_ < 0) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    held_ = flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (held_ || std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(20ms);
  }
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), held_(std::exchange(other.held_, false)) {}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace perceiver
