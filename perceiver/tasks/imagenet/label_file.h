// ImageNet's `val` as it is unpacked: all pictures in one folder, and a file that says which class
// each is of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace perceiver {

struct FlatPicture {
  std::filesystem::path path;
  std::string name;     // of its class; empty where the file has a number
  int64_t number = -1;  // of its class, where the file has no name
};

struct FlatPictures {
  std::filesystem::path labels;    // the file
  std::vector<std::string> names;  // of all classes in it, also of those without a picture here
  std::vector<FlatPicture> files;  // the folder's, in the order of their names
};

// Whether a folder has pictures and no folders.
bool is_flat(const std::filesystem::path& folder);

// The pictures of a flat folder by the first of `labels` that is there, or, where there are none,
// by one of ImageNet's own files in the folder or beside it. A line is one of
//   ILSVRC2012_val_00000001.JPEG 65               Caffe's val.txt: a file and its class, as a
//   number ILSVRC2012_val_00000001.JPEG n01751748        from 0 on in the order of the ids, or as a
//   name ILSVRC2012_val_00000001,n01751748 111 108 …   Kaggle's LOC_val_solution.csv n01751748
//   TensorFlow's list: a line for each file, in order
FlatPictures flat_pictures(const std::filesystem::path& folder,
                           const std::vector<std::string>& labels);

}  // namespace perceiver
