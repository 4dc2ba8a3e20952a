// Pictures in folders, one folder a class: the layout in which ImageNet is kept.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

struct ImageFolders {
  // Each has a folder for every class, itself or in its `train` (held out: its `val`).
  std::vector<std::string> train = {};
  std::vector<std::string> held_out = {};  // empty: as the next line says, else `val` in `train`
  int64_t held_out_per_class = 0;          // the last pictures of each class, by name
};

template <typename Visitor>
void fields(Visitor& visit, ImageFolders& c) {
  visit("train", c.train);
  visit("held_out", c.held_out);
  visit("held_out_per_class", c.held_out_per_class, at_least(0));
}

// The names of the folders, in order: a class's label is its place among them. Fails unless there
// are `num_classes`.
std::vector<std::string> class_names(const ImageFolders& folders, int64_t num_classes);

struct LabelledFile {
  std::filesystem::path path;
  int64_t label;
};

// Class after class, each in the order of its names. Without held-out pictures: none.
std::vector<LabelledFile> train_files(const ImageFolders& folders, int64_t num_classes);
std::vector<LabelledFile> held_out_files(const ImageFolders& folders, int64_t num_classes);

}  // namespace perceiver
