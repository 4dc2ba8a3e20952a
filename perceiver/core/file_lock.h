// A file that one program at a time may work with.
#pragma once

#include <chrono>
#include <filesystem>

namespace perceiver {

// Held while this lives, and while a child process lives that was started meanwhile. Others that
// ask for it are not hindered in reading or writing the file.
class FileLock {
 public:
  // Waits so long for another that holds it. A file system without locks lets everyone have it.
  FileLock(const std::filesystem::path& path, std::chrono::milliseconds patience);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

  bool held() const { return held_; }

 private:
  int file_ = -1;
  bool held_ = false;
};

}  // namespace perceiver
