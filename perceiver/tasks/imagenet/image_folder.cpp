#include "perceiver/tasks/imagenet/image_folder.h"

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

int64_t label_of(const fs::path& folder, const std::vector<std::string>& names) {
  const std::string name = folder.filename().string();
  const auto found = std::lower_bound(names.begin(), names.end(), name);
  if (found == names.end() || *found != name) {
    fail("{}: '{}' is none of the classes trained on", folder.string(), name);
  }
  return found - names.begin();
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
                                   const ImageFolders& folders, int64_t num_classes, Part part) {
  const std::vector<std::string> names = class_names(folders, num_classes);
  std::vector<LabelledFile> files;
  for (const fs::path& folder : class_folders) {
    add_files(folder, label_of(folder, names), part, folders.held_out_per_class, files);
  }
  return files;
}

}  // namespace

std::vector<std::string> class_names(const ImageFolders& folders, int64_t num_classes) {
  // Where a model is measured, what it was trained on may not be at hand.
  const bool trained_here =
      folders.held_out.empty() || (!folders.train.empty() && fs::exists(folders.train[0]));
  std::set<std::string> names;
  for (const fs::path& folder : trained_here ? train_folders(folders) : held_out_folders(folders)) {
    names.insert(folder.filename().string());
  }
  if (static_cast<int64_t>(names.size()) != num_classes) {
    fail("{}: has folders of {} classes, the model has {} (model.num_classes)",
         trained_here ? folders.train[0] : folders.held_out[0], names.size(), num_classes);
  }
  return {names.begin(), names.end()};
}

std::vector<LabelledFile> train_files(const ImageFolders& folders, int64_t num_classes) {
  return files_of(train_folders(folders), folders, num_classes,
                  by_rule(folders) ? Part::kAllButLast : Part::kAll);
}

std::vector<LabelledFile> held_out_files(const ImageFolders& folders, int64_t num_classes) {
  if (by_rule(folders)) {
    return files_of(train_folders(folders), folders, num_classes, Part::kLast);
  }
  const std::vector<fs::path> classes = held_out_folders(folders);
  if (classes.empty()) return {};
  return files_of(classes, folders, num_classes, Part::kAll);
}

}  // namespace perceiver
