// Files that are written for pair after pair, in places that were checked in advance.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

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

// A picture for each pair beside the flow itself; nothing where `path` is empty.
class ExtraPictures {
 public:
  // `option` is for messages; of `place` all but path and ending counts.
  ExtraPictures(const std::string& option, const std::string& path, const OutputFiles::Place& place,
                const PathSet& inputs);

  explicit operator bool() const { return files_.has_value(); }

  // uint8 [C, H, W] -> the file it went to
  std::string write(const std::string& stem, const Tensor& picture) const;

 private:
  std::optional<OutputFiles> files_;
};

}  // namespace perceiver
