#include "perceiver/core/folder_tree.h"

#include "perceiver/core/file.h"

namespace perceiver {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::path& path : sorted_entries(folder)) {
    if (path.filename().string().starts_with('.')) continue;
    if (!fs::is_directory(path)) {
      files.push_back(path);
    } else if (!fs::is_symlink(path)) {
      const std::vector<fs::path> inside = files_below(path);
      files.insert(files.end(), inside.begin(), inside.end());
    }
  }
  return files;
}

}  // namespace perceiver
