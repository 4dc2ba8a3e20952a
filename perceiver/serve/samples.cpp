#include "perceiver/serve/samples.h"

#include <algorithm>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::string type_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".png") return "image/png";
  if (ending == ".avi") return "video/x-msvideo";
  if (ending == ".wav") return "audio/wav";
  return "text/plain";
}

void add(std::vector<Sample>& samples, const fs::path& folder, const fs::path& place,
         const std::string& kind) {
  std::error_code none;
  if (!fs::is_regular_file(folder / place, none)) return;
  std::string name = place.generic_string();
  std::ranges::replace(name, '/', '-');
  samples.push_back({.name = name, .kind = kind, .type = type_of(place), .path = folder / place});
}

}  // namespace

Samples::Samples() {
  fs::path folder;
  try {
    folder = shipped("samples");
  } catch (const Error&) {
    return;  // an installation may do without
  }
  add(all_, folder, "sentences.txt", "sentences");
  for (const char* what : {"pictures", "flow"}) {
    std::error_code none;
    if (!fs::is_directory(folder / what, none)) continue;
    for (const fs::path& entry : sorted_entries(folder / what)) {
      if (what == std::string("pictures")) {
        add(all_, folder, fs::path(what) / entry.filename(), "picture");
        continue;
      }
      for (const char* frame : {"frame1.png", "frame2.png"}) {
        add(all_, folder, fs::path(what) / entry.filename() / frame, "frame");
      }
    }
  }
  add(all_, folder, "clip.avi", "clip");
  add(all_, folder, "sound.wav", "sound");
}

const Sample* Samples::find(const std::string& name) const {
  const auto found = std::ranges::find(all_, name, &Sample::name);
  return found == all_.end() ? nullptr : &*found;
}

nlohmann::ordered_json to_json(const Sample& sample) {
  return {{"name", sample.name}, {"kind", sample.kind}, {"type", sample.type}};
}

}  // namespace perceiver
