#include "perceiver/tasks/optical_flow/output_files.h"

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/output_place.h"
#include "perceiver/media/image.h"

namespace perceiver {

namespace fs = std::filesystem;

std::string PathSet::real(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return (error ? path : real).string();
}

bool OutputFiles::is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || !path.has_extension();
}

OutputFiles::OutputFiles(Place place, PathSet inputs)
    : place_(std::move(place)), inputs_(std::move(inputs)), is_folder_(is_folder(place_.path)) {
  std::error_code ignored;
  if (is_folder_ && fs::exists(place_.path, ignored) && !fs::is_directory(place_.path, ignored)) {
    fail("{}: is no folder, and the name of a file must have an ending", place_.path.string());
  }
  if (!is_folder_ && !place_.is_pair) {
    fail("{}: one file cannot hold the flow of several pairs; give a folder, or a video with -o",
         place_.path.string());
  }
  check_writable(place_.path);
  check_files();
}

void OutputFiles::check_files() const {
  PathSet taken;
  for (const std::string& stem : place_.stems) {
    const fs::path file = file_of(stem);
    if (taken.has(file)) fail("{}: two frames have this name, '{}'", file.string(), stem);
    taken.add(file);
  }
}

fs::path OutputFiles::file_of(const std::string& stem) const {
  const fs::path file = is_folder_ ? place_.path / (stem + place_.ending) : place_.path;
  if (inputs_.has(file)) {
    fail("{}: is an input and would be overwritten; give another output", file.string());
  }
  return file;
}

fs::path OutputFiles::write(const std::string& stem, std::string_view bytes) const {
  const fs::path file = file_of(stem);
  std::error_code error;
  if (is_folder_) fs::create_directory(place_.path, error);
  if (error) fail("{}: cannot write: {}", place_.path.string(), error.message());
  write_file(file, bytes);
  return file;
}

ExtraPictures::ExtraPictures(const std::string& option, const std::string& path,
                             const OutputFiles::Place& place, const PathSet& inputs) {
  if (path.empty()) return;
  if (!OutputFiles::is_folder(path) && !path.ends_with(".png")) {
    fail("{} {}: expected a name that ends in .png, or a folder", option, path);
  }
  OutputFiles::Place own = place;
  own.path = path;
  own.ending = ".png";
  files_.emplace(own, inputs);
}

std::string ExtraPictures::write(const std::string& stem, const Tensor& picture) const {
  return files_->write(stem, encode_png(picture)).string();
}

}  // namespace perceiver
