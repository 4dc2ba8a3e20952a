#include "perceiver/core/file.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "perceiver/core/atomic_file.h"
#include "perceiver/core/error.h"
#include "perceiver/core/pipe.h"

namespace perceiver {

namespace fs = std::filesystem;

File read_file(const fs::path& path) {
  std::error_code ignored;  // opening says it better
  const fs::file_type type = fs::status(path, ignored).type();
  if (type == fs::file_type::directory) fail("{}: is a folder, expected a file", path.string());
  if (type == fs::file_type::fifo) return {path.string(), read_pipe(path)};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  File file{path.string(), std::string(std::istreambuf_iterator<char>(stream), {})};
  if (stream.bad()) fail("{}: cannot read: {}", path.string(), std::strerror(errno));
  return file;
}

void write_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("{}: no such folder", folder.string());
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The folder of the file that this code was loaded from: of the program, or of a shared library in
// another one (Python).
static fs::path own_folder() {
  Dl_info info = {};
  link_map* loaded = nullptr;
  const bool found = dladdr1(reinterpret_cast<const void*>(&shipped), &info,
                             reinterpret_cast<void**>(&loaded), RTLD_DL_LINKMAP) != 0;
  // The program itself has no name among what it has loaded.
  if (found && loaded->l_name[0] != '\0') return fs::canonical(loaded->l_name).parent_path();
  return fs::read_symlink("/proc/self/exe").parent_path();
}

fs::path shipped(const fs::path& name) {
  const fs::path here = own_folder().parent_path();
  // A build folder or a folder of test programs inside the tree; the installed share folder.
  const fs::path roots[] = {here, here.parent_path(), here / "share" / "perceiver"};
  std::string looked;
  for (const fs::path& root : roots) {
    if (fs::exists(root / name)) return root / name;
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", (root / name).string());
  }
  fail("{}: not found; looked at {}", name.string(), looked);
}

}  // namespace perceiver
