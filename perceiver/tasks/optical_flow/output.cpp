#include "perceiver/tasks/optical_flow/output.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/config.h"
#include "perceiver/core/error.h"
#include "perceiver/core/output_place.h"
#include "perceiver/media/image.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/optical_flow/draw.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

// Of several pairs, the least motion that is saturated, in pixels: what trembles stays white.
constexpr double kLeastSaturated = 2.0;

Tensor flow_picture(const FlowField& field, FlowFormat format, const Tensor& frame,
                    const FlowStyle& style) {
  const double max_flow = style.max_flow > 0.0 ? style.max_flow : largest_flow(field);
  const Tensor picture =
      format == FlowFormat::kArrows ? flow_arrows(frame, field) : flow_colours(field, max_flow);
  if (!style.legend) return picture;
  return format == FlowFormat::kArrows ? with_legend(picture) : with_legend(picture, max_flow);
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
      style_(options.style),
      is_pair_(source.is_pair()) {
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

FlowStyle FlowWriter::style_of(const FlowField& field) {
  FlowStyle style = style_;
  if (style.max_flow > 0.0 || is_pair_) return style;
  longest_ = std::max({longest_, kLeastSaturated, largest_flow(field)});
  style.max_flow = longest_;
  return style;
}

std::string FlowWriter::write(const Frame& first, const FlowField& field) {
  const FlowStyle style = style_of(field);
  if (files_) {
    return files_->write(first.stem, encode_field(field, format_, first.pixels, style)).string();
  }
  const Tensor picture = flow_picture(field, format_, first.pixels, style);
  video_->write(format_ == FlowFormat::kArrows ? picture : beside({first.pixels, picture}));
  return video_->path().string();
}

std::string FlowWriter::finish() {
  if (!video_) return path_.string();
  video_->finish();
  return video_->path().string();
}

}  // namespace perceiver
