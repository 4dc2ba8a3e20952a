// Where flow goes: files of it, pictures, videos.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "perceiver/tasks/optical_flow/frames.h"
#include "perceiver/tasks/optical_flow/output_files.h"

namespace perceiver {

enum class FlowFormat { kFlo, kKitti, kColours, kArrows };
constexpr std::array<std::string_view, 4> enum_words(FlowFormat) {
  return {"flo", "kitti", "colours", "arrows"};
}

struct FlowStyle {
  bool legend = false;
  // Pixels of motion that are saturated. 0: the longest vector; of several pairs the longest so
  // far, and at least 2, so that colours keep their meaning and what stands still stays white.
  double max_flow = 0.0;
};

// The bytes of a file in this format; `frame` may be undefined unless arrows are asked for.
std::string encode_field(const FlowField& field, FlowFormat format, const Tensor& frame,
                         const FlowStyle& style);

// What is written at `path`: `format` where it is given, else by the ending. Fails where the two do
// not go together.
FlowFormat format_of(const std::filesystem::path& path, const std::string& format);
std::string ending_of(FlowFormat format);

// The flow of pair after pair, as files or as a video: of arrows, or of the frames beside the
// colours.
class FlowWriter {
 public:
  struct Options {
    std::string path, format;  // by default flow.png, a folder flow, or flow.mp4
    FlowStyle style = {};
    double frames_per_second = 0.0;  // 0: the source's
  };
  FlowWriter(const Options& options, const FrameSource& source, const PathSet& inputs);

  std::string write(const Frame& first, const FlowField& field);  // -> the file it went to
  std::string finish();                                           // -> the whole

 private:
  FlowStyle style_of(const FlowField& field);

  std::filesystem::path path_;
  FlowFormat format_;
  FlowStyle style_;
  bool is_pair_;
  double longest_ = 0.0;  // of the pairs so far
  std::optional<OutputFiles> files_;
  std::optional<VideoWriter> video_;
};

}  // namespace perceiver
