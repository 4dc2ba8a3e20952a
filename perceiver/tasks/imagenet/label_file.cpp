#include "perceiver/tasks/imagenet/label_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/number.h"
#include "perceiver/data/delimited.h"
#include "perceiver/media/image.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKnown = {"val.txt", "LOC_val_solution.csv",
                                         "imagenet_2012_validation_synset_labels.txt"};

fs::path find_labels(const fs::path& folder, const std::vector<std::string>& labels) {
  for (const std::string& name : labels.empty() ? kKnown : labels) {
    if (!labels.empty() && fs::is_regular_file(name)) return name;
    for (const fs::path& place : {folder / name, folder.parent_path() / name}) {
      if (fs::is_regular_file(place)) return place;
    }
  }
  if (!labels.empty()) {
    fail("data.val_labels: '{}' is neither here nor in {} nor beside it",
         fmt::join(labels, "' nor '"), folder.string());
  }
  fail(
      "{}: has pictures and no folders of classes, and neither {} is in it or beside it; "
      "data.val_labels names the file that says which class each is of",
      folder.string(), fmt::join(kKnown, " nor "));
}

// A line of the file: the picture, where it is named, and its class.
struct Line {
  std::string picture, label;
};

// The words of a line; the first two of a table's.
std::vector<std::string> words_of(std::string line) {
  std::ranges::replace(line, ',', ' ');
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

std::vector<Line> lines_of(const fs::path& file) {
  std::vector<Line> lines;
  TextLines text(file);
  for (std::string line; text.next(line);) {
    std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const bool is_table = line.find(',') != line.npos;
    if (lines.empty() && is_table && words[0] == "ImageId") continue;  // what the columns are
    if (words.size() > 2 && !is_table) {
      fail("{}:{}: {} words, expected a file and its class, or a class", file.string(),
           text.number(), words.size());
    }
    if (words.size() == 1) {
      lines.push_back({"", words[0]});
    } else {
      lines.push_back({words[0], words[1]});
    }
    if (lines.back().picture.empty() != lines.front().picture.empty()) {
      fail("{}:{}: '{}', expected a file and its class in each line, or a class in each",
           file.string(), text.number(), line);
    }
  }
  if (lines.empty()) fail("{}: is empty, expected a line for each picture", file.string());
  return lines;
}

// -1: it is a name.
int64_t number_of(const std::string& label) { return number_in<int64_t>(label).value_or(-1); }

FlatPicture of_class(const fs::path& path, const std::string& label) {
  const int64_t number = number_of(label);
  return {path, number < 0 ? label : "", number};
}

// Lines that name no picture are those of the pictures in the order of their names.
void add_in_order(const std::vector<Line>& lines, const std::vector<fs::path>& pictures,
                  FlatPictures& all) {
  const std::string file = all.labels.string();
  if (lines.size() != pictures.size()) {
    fail("{}: has {} classes, one a line, for {} pictures", file, lines.size(), pictures.size());
  }
  if (number_of(lines[0].label) >= 0) {
    fail(
        "{}: numbers of classes alone, such as ILSVRC's own, do not say in which order these are "
        "counted; expected names such as n01440764, or a file and its class in each line",
        file);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    all.files.push_back(of_class(pictures[i], lines[i].label));
  }
}

void add_by_name(const std::vector<Line>& lines, const std::vector<fs::path>& pictures,
                 FlatPictures& all) {
  std::map<std::string, std::string> labels;  // by the file's name without its ending
  for (const Line& line : lines) labels[fs::path(line.picture).stem().string()] = line.label;
  for (const fs::path& picture : pictures) {
    const auto found = labels.find(picture.stem().string());
    if (found == labels.end()) {
      fail("{}: has no line for {}", all.labels.string(), picture.string());
    }
    all.files.push_back(of_class(picture, found->second));
  }
}

}  // namespace

bool is_flat(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  bool pictures = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.filename().string().starts_with('.')) continue;
    if (entry.is_directory()) return false;
    pictures = pictures || has_image_ending(path);
  }
  return pictures;
}

FlatPictures flat_pictures(const fs::path& folder, const std::vector<std::string>& labels) {
  const fs::path bare = folder.has_filename() ? folder : folder.parent_path();  // "val/" is "val"
  FlatPictures all{.labels = find_labels(bare, labels), .names = {}, .files = {}};
  const std::vector<Line> lines = lines_of(all.labels);
  const std::vector<fs::path> pictures = images_in(folder);
  if (lines[0].picture.empty()) {
    add_in_order(lines, pictures, all);
  } else {
    add_by_name(lines, pictures, all);
  }
  std::set<std::string> names;
  for (const Line& line : lines) {
    if (number_of(line.label) < 0) names.insert(line.label);
  }
  all.names = {names.begin(), names.end()};
  return all;
}

}  // namespace perceiver
