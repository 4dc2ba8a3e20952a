#include "perceiver/tasks/imagenet/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/media/image.h"

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

// Those of data.held_out, else every `val` beside a `train`.
std::vector<fs::path> held_out_folders(const ImageFolders& folders) {
  std::vector<fs::path> all;
  const bool named = !folders.held_out.empty();
  for (const std::string& folder : named ? folders.held_out : folders.train) {
    if (!named &&
        !(holds_classes(fs::path(folder) / "train") && holds_classes(fs::path(folder) / "val"))) {
      continue;
    }
    const std::vector<fs::path> classes = class_folders(folder, "val");
    all.insert(all.end(), classes.begin(), classes.end());
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
  for (int64_t i = begin; i < end; ++i) files.push_back({pictures[i], label});
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
      names_of(trained_here ? train_folders(folders) : held_out_folders(folders));
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
  return files_of(held_out_folders(folders), folders, names, Part::kAll);
}

}  // namespace perceiver
