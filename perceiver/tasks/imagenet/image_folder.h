// Pictures in folders, one folder a class: the layout in which ImageNet is kept.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

struct ImageFolders {
  // Each has a folder for every class, itself or in its `train` (held out: its `val`, which may
  // have all pictures in it beside a file of labels).
  std::vector<std::string> train = {};
  std::vector<std::string> held_out = {};
  int64_t held_out_per_class = 0;
  std::vector<std::string> val_labels = {};
};

template <typename Visitor>
void fields(Visitor& visit, ImageFolders& c) {
  visit(
      {"train", "Folders to train on; each has a folder for every class, itself or in its 'train'"},
      c.train);
  visit({"held_out",
         "Folders to measure on, likewise (or in 'val'); empty: held_out_per_class, else 'val' in "
         "train"},
        c.held_out);
  visit({"held_out_per_class",
         "Pictures of each class, the last by name, that are measured on and not trained on"},
        c.held_out_per_class, at_least(0));
  visit(
      {"val_labels",
       "Files with the class of each picture of a 'val' without folders, the first in it or beside "
       "it that is there; empty: val.txt, LOC_val_solution.csv or TensorFlow's list of ids"},
      c.val_labels);
}

// The names of the folders in the order of the classes: a class's label is its place among them.
// Where the model has names, `labels`, the order is theirs; else it is the names' own, as it is for
// ImageNet's folders, which are numbered. Fails unless there are `num_classes`, and they have these
// names.
std::vector<std::string> class_names(const ImageFolders& folders, int64_t num_classes,
                                     const std::vector<std::string>& labels = {});

// Whether all are such as "n01440764".
bool are_wordnet_ids(const std::vector<std::string>& names);

struct LabelledFile {
  std::filesystem::path path;
  std::vector<int64_t> labels;  // one, unless a table has several
  std::string error = {};       // why it cannot be used, with the place
};

// Class after class, each in the order of its names; of a folder without folders (label_file.h) in
// the order of theirs. `names` are class_names(). Without held-out pictures: none.
std::vector<LabelledFile> train_files(const ImageFolders& folders,
                                      const std::vector<std::string>& names);
std::vector<LabelledFile> held_out_files(const ImageFolders& folders,
                                         const std::vector<std::string>& names);

}  // namespace perceiver
