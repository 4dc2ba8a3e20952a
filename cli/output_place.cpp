#include "cli/output_place.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "perceiver/core/error.h"

namespace perceiver {

namespace fs = std::filesystem;

void check_writable(const fs::path& path) {
  std::error_code ignored;
  fs::path folder = path;
  if (!fs::is_directory(path, ignored)) {
    const fs::path name = path.has_filename() ? path : path.parent_path();
    folder = name.has_parent_path() ? name.parent_path() : ".";
    if (!fs::is_directory(folder, ignored)) {
      fail("{}: there is no folder {}", path.string(), folder.string());
    }
    // A device is written to as it is.
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) return;
  }
  if (access(folder.c_str(), W_OK) != 0) {
    fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  }
}

}  // namespace perceiver
