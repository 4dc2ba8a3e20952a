#include "perceiver/core/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <future>

#include "perceiver/core/error.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

struct Descriptor {
  int number;
  ~Descriptor() { close(number); }
};

// open() returns when a writer comes, and has no limit of its own.
int open_within(const fs::path& path, std::chrono::milliseconds patience) {
  std::future<int> opened = std::async(std::launch::async, [&] {
    const int number = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (number < 0) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
    return number;
  });
  if (opened.wait_for(patience) == std::future_status::ready) return opened.get();
  // To be a writer oneself, for a moment, ends the other thread's waiting.
  const Descriptor both_ends{open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
  const Descriptor unused{opened.get()};
  fail("{}: is a pipe that nobody writes to; waited {} s", path.string(),
       std::chrono::duration<double>(patience).count());
}

}  // namespace

std::string read_pipe(const fs::path& path, std::chrono::milliseconds patience) {
  const Descriptor pipe{open_within(path, patience)};
  std::string bytes;
  std::array<char, 1 << 16> buffer;
  ssize_t count;
  while ((count = read(pipe.number, buffer.data(), buffer.size())) != 0) {
    if (count > 0) {
      bytes.append(buffer.data(), count);
    } else if (errno != EINTR) {
      fail("{}: cannot read: {}", path.string(), std::strerror(errno));
    }
  }
  return bytes;
}

}  // namespace perceiver
