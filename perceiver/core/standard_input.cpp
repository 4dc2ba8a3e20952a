#include "perceiver/core/standard_input.h"

#include <array>
#include <cstdio>

namespace perceiver {

File read_input(const std::string& path) {
  if (path != "-") return read_file(path);
  File file{"standard input", ""};
  std::array<char, 1 << 16> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
    file.bytes.append(buffer.data(), count);
  }
  return file;
}

}  // namespace perceiver
