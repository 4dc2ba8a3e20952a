#include "perceiver/core/output_place.h"

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

void check_new_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!fs::is_directory(path, error)) fail("{}: is a file, expected a folder", path.string());
  if (!fs::is_empty(path, error)) {
    fail("{}: is there already, expected a new or empty folder, or --overwrite", path.string());
  }
}

void check_not_input(const fs::path& output, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  for (const std::string& input : inputs) {
    if (!fs::is_regular_file(input, ignored) || !fs::equivalent(input, output, ignored)) continue;
    fail("{}: is an input and would be overwritten; give another output", output.string());
  }
}

}  // namespace perceiver
