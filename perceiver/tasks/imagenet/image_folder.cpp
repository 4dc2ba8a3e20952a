#include "perceiver/tasks/imagenet/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/names.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/label_file.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> entries = sorted_entries(folder);
  std::erase_if(entries, [](const fs::path& path) {
    return !fs::is_directory(path) || path.filename().string().starts_with('.');
  });
  return entries;
}

// `train` may also be the name of a class: then pictures are in it, and no folders.
bool holds_classes(const fs::path& folder) {
  return fs::is_directory(folder) && !folders_in(folder).empty();
}

std::vector<fs::path> class_folders(const std::string& folder, const char* split) {
  const fs::path inner = fs::path(folder) / split;
  const std::vector<fs::path> classes = folders_in(holds_classes(inner) ? inner : fs::path(folder));
  if (classes.empty()) {
    fail("{}: there are no folders in it, expected one for each class, with pictures", folder);
  }
  return classes;
}

std::vector<fs::path> train_folders(const ImageFolders& folders) {
  if (folders.train.empty()) {
    fail("data.train names no folder; give one that has a folder for each class with --data");
  }
  std::vector<fs::path> all;
  for (const std::string& folder : folders.train) {
    const std::vector<fs::path> classes = class_folders(folder, "train");
    all.insert(all.end(), classes.begin(), classes.end());
  }
  return all;
}

// What is measured on: folders of classes, and folders of pictures beside a file of labels.
struct HeldOut {
  std::vector<fs::path> folders;
  std::vector<FlatPictures> flat;
};

// Of data.held_out, else of every `val` beside a `train`.
HeldOut held_out_of(const ImageFolders& folders) {
  HeldOut all;
  const bool named = !folders.held_out.empty();
  for (const std::string& folder : named ? folders.held_out : folders.train) {
    const fs::path val = fs::path(folder) / "val";
    if (!named && !holds_classes(fs::path(folder) / "train")) continue;
    if (is_flat(val)) {
      all.flat.push_back(flat_pictures(val, folders.val_labels));
    } else if (named && is_flat(folder)) {
      all.flat.push_back(flat_pictures(folder, folders.val_labels));
    } else if (named || holds_classes(val)) {
      const std::vector<fs::path> classes = class_folders(folder, "val");
      all.folders.insert(all.folders.end(), classes.begin(), classes.end());
    }
  }
  return all;
}

bool by_rule(const ImageFolders& folders) {
  return folders.held_out.empty() && folders.held_out_per_class > 0;
}

std::set<std::string> names_of(const std::vector<fs::path>& class_folders) {
  std::set<std::string> names;
  for (const fs::path& folder : class_folders) names.insert(folder.filename().string());
  return names;
}

// Those of `names` that `others` lacks, as "'car', 'plane'"; of many the first few.
std::string lacking(const std::set<std::string>& names, const std::set<std::string>& others) {
  constexpr size_t kMostNamed = 10;
  std::vector<std::string> some;
  size_t count = 0;
  for (const std::string& name : names) {
    if (!others.contains(name) && ++count <= kMostNamed) some.push_back("'" + name + "'");
  }
  if (count > kMostNamed) some.push_back(fmt::format("{} more", count - kMostNamed));
  return some.empty() ? "none" : fmt::format("{}", fmt::join(some, ", "));
}

[[noreturn]] void fail_to_match(const std::string& place, const std::set<std::string>& folders,
                                const std::vector<std::string>& classes) {
  const std::set<std::string> known(classes.begin(), classes.end());
  fail(
      "{}: folders and the model's classes must have the same names; folders without a class: {}; "
      "classes without a folder: {}",
      place, lacking(folders, known), lacking(known, folders));
}

int64_t label_of(const fs::path& folder, const std::vector<std::string>& names) {
  return std::ranges::find(names, folder.filename().string()) - names.begin();
}

enum class Part { kAll, kAllButLast, kLast };

// The pictures of a class, or its part of them.
void add_files(const fs::path& folder, int64_t label, Part part, int64_t last,
               std::vector<LabelledFile>& files) {
  const std::vector<fs::path> pictures = images_in(folder);
  const auto count = static_cast<int64_t>(pictures.size());
  if (part != Part::kAll && count <= last) {
    fail("{}: has {} pictures, none to train on when data.held_out_per_class ({}) are held out",
         folder.string(), count, last);
  }
  const int64_t begin = part == Part::kLast ? count - last : 0;
  const int64_t end = part == Part::kAllButLast ? count - last : count;
  for (int64_t i = begin; i < end; ++i) files.push_back({pictures[i], {label}});
}

std::vector<LabelledFile> files_of(const std::vector<fs::path>& class_folders,
                                   const ImageFolders& folders,
                                   const std::vector<std::string>& names, Part part) {
  std::vector<LabelledFile> files;
  for (const fs::path& folder : class_folders) {
    if (std::ranges::count(names, folder.filename().string()) == 0) {
      fail_to_match(folder.parent_path().string(), names_of(class_folders), names);
    }
    add_files(folder, label_of(folder, names), part, folders.held_out_per_class, files);
  }
  return files;
}

int64_t label_of(const FlatPicture& picture, const fs::path& source,
                 const std::vector<std::string>& names) {
  const int64_t count = std::ssize(names);
  if (picture.name.empty()) {
    if (picture.number < count) return picture.number;
    fail("{}: class {} of {}, expected 0 to {}", source.string(), picture.number,
         picture.path.filename().string(), count - 1);
  }
  const int64_t label = std::ranges::find(names, picture.name) - names.begin();
  if (label < count) return label;
  fail("{}: class '{}' of {} is none of the {} classes{}", source.string(), picture.name,
       picture.path.filename().string(), count, did_you_mean(picture.name, names));
}

// Classes that are numbered in a file of labels, and named nowhere.
std::vector<std::string> numbers_as_names(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("class {}", i));
  return names;
}

// All names that held-out pictures have for classes; none where these have numbers.
std::set<std::string> names_of(const HeldOut& held_out) {
  std::set<std::string> names = names_of(held_out.folders);
  for (const FlatPictures& flat : held_out.flat) names.insert(flat.names.begin(), flat.names.end());
  return names;
}

}  // namespace

bool are_wordnet_ids(const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [](const std::string& name) {
    return name.size() == 9 && name[0] == 'n' &&
           name.find_first_not_of("0123456789", 1) == std::string::npos;
  });
}

std::vector<std::string> class_names(const ImageFolders& folders, int64_t num_classes,
                                     const std::vector<std::string>& labels) {
  // Where a model is measured, what it was trained on may not be at hand.
  const bool trained_here =
      folders.held_out.empty() || (!folders.train.empty() && fs::exists(folders.train[0]));
  const std::set<std::string> found =
      trained_here ? names_of(train_folders(folders)) : names_of(held_out_of(folders));
  if (found.empty()) return labels.empty() ? numbers_as_names(num_classes) : labels;
  const std::string& place = trained_here ? folders.train[0] : folders.held_out[0];
  if (static_cast<int64_t>(found.size()) != num_classes) {
    fail("{}: has folders of {} classes, the model has {} (model.num_classes)", place, found.size(),
         num_classes);
  }
  std::vector<std::string> sorted(found.begin(), found.end());
  if (labels.empty()) return sorted;
  if (std::set(labels.begin(), labels.end()) == found) return labels;
  if (!are_wordnet_ids(sorted)) fail_to_match(place, found, labels);
  return sorted;
}

std::vector<LabelledFile> train_files(const ImageFolders& folders,
                                      const std::vector<std::string>& names) {
  return files_of(train_folders(folders), folders, names,
                  by_rule(folders) ? Part::kAllButLast : Part::kAll);
}

std::vector<LabelledFile> held_out_files(const ImageFolders& folders,
                                         const std::vector<std::string>& names) {
  if (by_rule(folders)) return files_of(train_folders(folders), folders, names, Part::kLast);
  const HeldOut held_out = held_out_of(folders);
  std::vector<LabelledFile> files = files_of(held_out.folders, folders, names, Part::kAll);
  for (const FlatPictures& flat : held_out.flat) {
    for (const FlatPicture& picture : flat.files) {
      files.push_back({picture.path, {label_of(picture, flat.labels, names)}});
    }
  }
  return files;
}

}  // namespace perceiver
