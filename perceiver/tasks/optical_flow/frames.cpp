#include "perceiver/tasks/optical_flow/frames.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "perceiver/core/error.h"
#include "perceiver/core/standard_input.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

constexpr double kPicturesPerSecond = 10.0;

// Without exceptions: what is given may be no path at all.
bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<std::string> pictures_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::path& path : images_in(folder)) files.push_back(path.string());
  if (files.size() == 1) fail("{}: one picture, flow needs two", folder.string());
  return files;
}

std::string stem_of(const std::string& file) {
  return file == "-" ? "stdin" : fs::path(file).stem().string();
}

}  // namespace

FrameSource::FrameSource(const std::vector<std::string>& inputs) {
  if (inputs.size() == 1 && !is_folder(inputs[0])) {
    open_video(inputs[0]);
  } else if (inputs.size() == 2) {
    open_pictures(inputs);
  } else {
    open_pictures(pictures_in(inputs[0]));
  }
}

void FrameSource::open_video(const std::string& file) {
  if (is_live_address(file)) {
    files_ = {file};
    live_.emplace(file);
    height_ = live_->height();
    width_ = live_->width();
    return;
  }
  if (has_image_ending(file) && !has_video_ending(file)) {  // a GIF may move
    fail("{}: one picture, flow needs two; give a second one, a folder or a video", file);
  }
  if (file.ends_with(".flo")) {
    fail("{}: is flow, expected frames; draw it with --show {}", file, file);
  }
  files_ = {file};
  video_.emplace(read_input(file));
  height_ = video_->info().height;
  width_ = video_->info().width;
}

void FrameSource::open_pictures(std::vector<std::string> files) {
  files_ = std::move(files);
  for (size_t i = 0; i < files_.size(); ++i) {
    Frame frame = picture(i);
    const int64_t height = frame.pixels.size(1), width = frame.pixels.size(2);
    if (i > 0 && (height != height_ || width != width_)) {
      fail("{} is {} x {}, {} is {} x {}: the two frames must have one size", files_[i - 1], width_,
           height_, files_[i], width, height);
    }
    height_ = height;
    width_ = width;
    if (is_pair()) kept_.push_back(std::move(frame));
  }
}

Frame FrameSource::picture(size_t index) const {
  const std::string& file = files_[index];
  return {file, stem_of(file), decode_image(read_input(file))};
}

void FrameSource::stop_when(std::function<bool()> asked) {
  if (live_) live_->stop_when(std::move(asked));
}

std::optional<Frame> FrameSource::live_picture() {
  if (after_) return std::exchange(after_, std::nullopt);
  auto pair = live_->next_pair();
  if (!pair) return {};
  const auto frame = [&](LiveVideo::Picture& picture) {
    return Frame{fmt::format("{}, frame {}", files_[0], picture.number),
                 fmt::format("{:06}", picture.number), std::move(picture.pixels)};
  };
  after_ = frame(pair->second);
  return frame(pair->first);
}

std::optional<Frame> FrameSource::next() {
  if (live_) return live_picture();
  const size_t index = next_++;
  if (video_) {
    std::optional<Tensor> pixels = video_->next();
    if (!pixels) return {};
    const std::string clip = files_[0] == "-" ? "standard input" : files_[0];
    return Frame{fmt::format("{}, frame {}", clip, index + 1), fmt::format("{:06}", index + 1),
                 std::move(*pixels)};
  }
  if (index >= files_.size()) return {};
  return is_pair() ? kept_[index] : picture(index);
}

double FrameSource::frames_per_second() const {
  if (live_) return live_->frames_per_second();
  return video_ ? video_->info().frames_per_second : kPicturesPerSecond;
}

std::optional<int64_t> FrameSource::num_pairs() const {
  if (live_) return std::nullopt;
  if (!video_) return static_cast<int64_t>(files_.size()) - 1;
  const std::optional<int64_t> frames = video_->info().num_frames;
  return frames ? std::optional(*frames - 1) : std::nullopt;
}

std::vector<std::string> FrameSource::stems() const {
  std::vector<std::string> stems;
  for (size_t i = 0; !is_video() && i + 1 < files_.size(); ++i) {
    stems.push_back(stem_of(files_[i]));
  }
  return stems;
}

GroundTruth::GroundTruth(std::string path, const FrameSource& source)
    : path_(std::move(path)),
      is_folder_(is_folder(path_)),
      height_(source.height()),
      width_(source.width()) {
  if (path_.empty()) return;
  if (!is_folder_) {
    read(path_);
    if (!source.is_pair()) fail("{}: is a file; several pairs need a folder", path_);
    return;
  }
  const std::vector<std::string> stems = source.stems();
  bool any = source.is_video();
  for (const std::string& stem : stems) {
    const std::string file = file_of(stem);
    if (file.empty()) continue;
    read(file);
    any = true;
  }
  if (!any) {
    fail("{}: no ground truth that has the name of a frame, such as {}.flo", path_, stems[0]);
  }
}

std::string GroundTruth::file_of(const std::string& stem) const {
  if (!is_folder_) return path_;
  for (const char* ending : {".flo", ".png"}) {
    const fs::path file = fs::path(path_) / (stem + ending);
    if (fs::exists(file)) return file.string();
  }
  return "";
}

FlowField GroundTruth::read(const std::string& file) const {
  FlowField field = decode_flow(read_file(file));
  check_same_size(field, file, height_, width_);
  return field;
}

std::optional<FlowField> GroundTruth::of(const Frame& first) const {
  const std::string file = file_of(first.stem);
  return file.empty() ? std::nullopt : std::optional(read(file));
}

}  // namespace perceiver
