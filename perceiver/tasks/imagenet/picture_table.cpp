#include "perceiver/tasks/imagenet/picture_table.h"

#include <algorithm>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/media/image.h"

namespace perceiver {

static bool is_table(const std::string& path) { return path.ends_with(".csv"); }

bool uses_table(const ImageFolders& folders, const PictureTable& table) {
  return !table.table.empty() || std::ranges::any_of(folders.train, is_table) ||
         std::ranges::any_of(folders.held_out, is_table);
}

std::vector<LabelledRow> picture_rows(const ImageFolders& folders, const PictureTable& table,
                                      DataPart part) {
  return labelled_rows({.train = folders.train,
                        .held_out = folders.held_out,
                        .table = table.table,
                        .label = table.label,
                        .separator = table.separator,
                        .rows = table.rows,
                        .held_out_rows = table.held_out_rows,
                        .held_out_per_class = folders.held_out_per_class},
                       part, has_image_ending);
}

std::vector<std::string> picture_classes(const std::vector<LabelledRow>& rows, int64_t num_classes,
                                         bool several_labels,
                                         const std::vector<std::string>& model_names) {
  std::vector<std::string> names = class_names(rows, model_names);
  const int64_t count = std::ssize(names);
  if (count > num_classes || (count < num_classes && !several_labels)) {
    fail("{}: has pictures of {} classes, the model has {}; set model.num_classes={}",
         rows.front().place, count, num_classes, count);
  }
  for (int64_t i = count; i < num_classes; ++i) names.push_back(fmt::format("unused {}", i));
  return names;
}

std::vector<LabelledFile> labelled_pictures(const std::vector<LabelledRow>& rows,
                                            const std::vector<std::string>& names,
                                            bool several_labels) {
  const ClassNumbers numbers(names);
  std::vector<LabelledFile> files;
  for (const LabelledRow& row : rows) {
    LabelledFile file{.path = row.path, .labels = {}, .error = row.error};
    if (file.error.empty() && !several_labels && row.labels.size() != 1) {
      file.error = fmt::format("{}: has {} classes, expected one, or model.several_labels=true",
                               row.place, row.labels.size());
    }
    if (file.error.empty()) {
      const std::vector<int64_t> all = numbers.of(row);
      const std::set<int64_t> different(all.begin(), all.end());
      file.labels = {different.begin(), different.end()};
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace perceiver
