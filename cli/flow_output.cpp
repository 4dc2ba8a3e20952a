#include "cli/flow_output.h"

#include <ATen/ATen.h>

#include "cli/output_place.h"
#include "perceiver/core/config.h"
#include "perceiver/core/error.h"
#include "perceiver/media/image.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/optical_flow/draw.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

Tensor flow_picture(const FlowField& field, FlowFormat format, const Tensor& frame,
                    const FlowStyle& style) {
  const double max_flow = style.max_flow > 0.0 ? style.max_flow : largest_flow(field);
  const Tensor picture =
      format == FlowFormat::kArrows ? flow_arrows(frame, field) : flow_colours(field, max_flow);
  return style.legend ? with_legend(picture) : picture;
}

bool fits_video(const std::string& format) {
  return format.empty() || format == to_word(FlowFormat::kColours) ||
         format == to_word(FlowFormat::kArrows);
}

std::string default_path(const std::string& format, const FrameSource& source) {
  if (source.is_pair()) return format == to_word(FlowFormat::kFlo) ? "flow.flo" : "flow.png";
  return source.is_video() && fits_video(format) ? "flow.mp4" : "flow";
}

}  // namespace

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

std::string encode_field(const FlowField& field, FlowFormat format, const Tensor& frame,
                         const FlowStyle& style) {
  switch (format) {
    case FlowFormat::kFlo: {
      // Middlebury's mark of what is unknown.
      constexpr double kUnknown = 1e10;
      return encode_flo(field.flow.masked_fill(~field.valid, kUnknown));
    }
    case FlowFormat::kKitti:
      return encode_kitti_flow(field);
    default:
      return encode_png(flow_picture(field, format, frame, style));
  }
}

std::string ending_of(FlowFormat format) { return format == FlowFormat::kFlo ? ".flo" : ".png"; }

FlowFormat format_of(const fs::path& path, const std::string& format) {
  const std::string ending = path.extension().string();
  const bool video = has_video_ending(path), folder = OutputFiles::is_folder(path);
  if (!video && !folder && ending != ".flo" && ending != ".png") {
    fail(
        "{}: unknown ending '{}', expected .flo, .png, a video's such as .mp4, or none for a "
        "folder",
        path.string(), ending);
  }
  if (format.empty()) return ending == ".flo" && !folder ? FlowFormat::kFlo : FlowFormat::kColours;
  size_t index = 0;
  while (enum_words(FlowFormat{})[index] != format) ++index;
  const auto wanted = static_cast<FlowFormat>(index);
  if (folder) return wanted;
  if (video && !fits_video(format)) {
    fail("{}: a video cannot hold --format {}, give a folder or a file that ends in {}",
         path.string(), format, ending_of(wanted));
  }
  if (!video && ending != ending_of(wanted)) {
    fail("{}: --format {} is written to files that end in {}", path.string(), format,
         ending_of(wanted));
  }
  return wanted;
}

FlowWriter::FlowWriter(const Options& options, const FrameSource& source, const PathSet& inputs)
    : path_(options.path.empty() ? default_path(options.format, source) : options.path),
      format_(format_of(path_, options.format)),
      style_(options.style) {
  if (!has_video_ending(path_) || OutputFiles::is_folder(path_)) {
    files_.emplace(OutputFiles::Place{.path = path_,
                                      .ending = ending_of(format_),
                                      .stems = source.stems(),
                                      .is_pair = source.is_pair()},
                   inputs);
    return;
  }
  check_writable(path_);
  if (inputs.has(path_)) {
    fail("{}: is an input and would be overwritten; give another output", path_.string());
  }
  const int64_t pictures = format_ == FlowFormat::kArrows ? 1 : 2;
  const double rate =
      options.frames_per_second > 0.0 ? options.frames_per_second : source.frames_per_second();
  video_.emplace(path_, VideoFormat{.height = source.height(),
                                    .width = pictures * source.width(),
                                    .frames_per_second = rate});
}

std::string FlowWriter::write(const Frame& first, const FlowField& field) {
  if (files_) {
    return files_->write(first.stem, encode_field(field, format_, first.pixels, style_)).string();
  }
  const Tensor picture = flow_picture(field, format_, first.pixels, style_);
  video_->write(format_ == FlowFormat::kArrows ? picture : beside({first.pixels, picture}));
  return video_->path().string();
}

std::string FlowWriter::finish() {
  if (!video_) return path_.string();
  video_->finish();
  return video_->path().string();
}

}  // namespace perceiver
