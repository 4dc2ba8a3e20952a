// What `perceiver flow` writes: files of flow, pictures of it, videos.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cli/flow_frames.h"

namespace perceiver {

enum class FlowFormat { kFlo, kKitti, kColours, kArrows };
constexpr std::array<std::string_view, 4> enum_words(FlowFormat) {
  return {"flo", "kitti", "colours", "arrows"};
}

// Paths, compared by what they lead to.
class PathSet {
 public:
  void add(const std::filesystem::path& path) { paths_.insert(real(path)); }
  bool has(const std::filesystem::path& path) const { return paths_.count(real(path)) > 0; }

 private:
  static std::string real(const std::filesystem::path& path);

  std::set<std::string> paths_;
};

// One file, or a folder with a file for each pair: a path is a folder where there is one of that
// name, or where it has no ending. All that can be wrong with the place is found out in advance.
class OutputFiles {
 public:
  struct Place {
    std::filesystem::path path;
    std::string ending;              // of the files in a folder
    std::vector<std::string> stems;  // of several pairs, where they are known
    bool is_pair;
  };
  OutputFiles(Place place, PathSet inputs);

  std::filesystem::path file_of(const std::string& stem) const;
  std::filesystem::path write(const std::string& stem, std::string_view bytes) const;

  static bool is_folder(const std::filesystem::path& path);

 private:
  void check_files() const;

  Place place_;
  PathSet inputs_;
  bool is_folder_;
};

struct FlowStyle {
  bool legend = false;
  double max_flow = 0.0;  // pixels that are saturated; 0: the longest of each picture
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
  std::filesystem::path path_;
  FlowFormat format_;
  FlowStyle style_;
  std::optional<OutputFiles> files_;
  std::optional<VideoWriter> video_;
};

}  // namespace perceiver
