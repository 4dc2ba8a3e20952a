#include "perceiver/media/ffmpeg_functions.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "perceiver/core/error.h"
#include "perceiver/media/ffmpeg_libraries.h"

namespace perceiver {
namespace {

struct Library {
  const char* name;
  int version;  // the interface that was compiled against: another one has other structures
  void* handle = nullptr;
};

struct Loaded {
  Ffmpeg functions = {};
  FfmpegLibraries state = {};
};

constexpr const char* kHowToGet =
    "install FFmpeg's libraries, the versions that this program was built with (Debian: apt-get "
    "install ffmpeg), or build it again with those that are here";

// The function of this name in the first of the libraries that has it.
void* find(const std::array<Library, 5>& libraries, const char* name) {
  for (const Library& library : libraries) {
    if (void* function = dlsym(library.handle, name)) return function;
  }
  return nullptr;
}

std::string folder_of(void* function) {
  Dl_info info = {};
  if (!dladdr(function, &info)) return "";
  return std::filesystem::path(info.dli_fname).parent_path().string();
}

Loaded load() {
  Loaded loaded;
  // Each after those that it needs.
  std::array<Library, 5> libraries = {{{"avutil", LIBAVUTIL_VERSION_MAJOR},
                                       {"swresample", LIBSWRESAMPLE_VERSION_MAJOR},
                                       {"swscale", LIBSWSCALE_VERSION_MAJOR},
                                       {"avcodec", LIBAVCODEC_VERSION_MAJOR},
                                       {"avformat", LIBAVFORMAT_VERSION_MAJOR}}};
  for (Library& library : libraries) {
    const std::string file = fmt::format("lib{}.so.{}", library.name, library.version);
    library.handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library.handle) {
      const char* reason = dlerror();
      loaded.state.missing = fmt::format("{}; {}", reason ? reason : file, kHowToGet);
      return loaded;
    }
  }
#define PERCEIVER_FIND(name)                                                                   \
  loaded.functions.name = reinterpret_cast<decltype(&::name)>(find(libraries, #name));         \
  if (!loaded.functions.name) {                                                                \
    loaded.state.missing = fmt::format("FFmpeg's libraries have no " #name "; {}", kHowToGet); \
    return loaded;                                                                             \
  }
  PERCEIVER_FFMPEG_FUNCTIONS(PERCEIVER_FIND)
  PERCEIVER_FFMPEG_SIDE_DATA(PERCEIVER_FIND)
#undef PERCEIVER_FIND
  loaded.state.version = loaded.functions.av_version_info();
  loaded.state.folder = folder_of(reinterpret_cast<void*>(loaded.functions.av_version_info));
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

const FfmpegLibraries& ffmpeg_libraries() { return loaded().state; }

const Ffmpeg& ffmpeg() {
  const Loaded& found = loaded();
  if (found.state.version.empty()) fail("this needs FFmpeg's libraries: {}", found.state.missing);
  return found.functions;
}

}  // namespace perceiver
