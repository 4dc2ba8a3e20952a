// Whether FFmpeg's libraries are on this machine.
#pragma once

#include <string>

namespace perceiver {

struct FfmpegLibraries {
  std::string version = {};  // "5.1.6-0+deb12u1"; empty: there are none
  std::string folder = {};   // where the first of them lies
  std::string missing = {};  // why there are none, and what to do
};

// Loads them.
const FfmpegLibraries& ffmpeg_libraries();

}  // namespace perceiver
