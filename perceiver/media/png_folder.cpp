#include "perceiver/media/png_folder.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include "perceiver/core/error.h"
#include "perceiver/media/image.h"

namespace perceiver {

namespace fs = std::filesystem;

PngFolder::PngFolder(fs::path path, std::optional<int64_t> samples_per_second)
    : path_(std::move(path)), beside_(path_), samples_per_second_(samples_per_second) {
  beside_ += fmt::format(".{}.part", getpid());
  std::error_code error;
  if (fs::exists(path_, error) && !(fs::is_directory(path_, error) && fs::is_empty(path_, error))) {
    fail("{}: is there already, expected a new or empty folder to write pictures to",
         path_.string());
  }
  fs::create_directory(beside_, error);
  if (error) fail("{}: cannot write: {}", path_.string(), error.message());
}

PngFolder::~PngFolder() {
  std::error_code ignored;
  fs::remove_all(beside_, ignored);
}

void PngFolder::write(const Tensor& frame) {
  write_file(beside_ / fmt::format("{:06}.png", num_frames_++), encode_png(frame));
}

void PngFolder::write_samples(const Tensor& samples) {
  samples_.push_back(samples.to(at::kCPU, at::kFloat).clone());
}

void PngFolder::finish() {
  if (!samples_.empty()) {
    write_file(beside_ / "sound.wav",
               encode_wav({at::cat(samples_).unsqueeze(0), samples_per_second_.value()}));
  }
  std::error_code error;
  fs::rename(beside_, path_, error);
  if (error) fail("{}: cannot write: {}", path_.string(), error.message());
}

}  // namespace perceiver
