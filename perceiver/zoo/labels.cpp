#include "perceiver/zoo/labels.h"

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/modalities/utf8.h"
#include "perceiver/weights/bytes.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

// Names are printed and go into other files as they are.
void check_label(std::string_view label, const std::string& place) {
  constexpr size_t kLongest = 1000;
  if (label.size() > kLongest) {
    fail("{}: a name of {} bytes, expected at most {}", place, label.size(), kLongest);
  }
  if (missing_utf8_bytes(label) != 0) fail("{}: the name is not UTF-8", place);
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (std::ranges::any_of(label, is_control)) {
    fail("{}: the name '{}' has control characters", place, printable(label));
  }
}

std::vector<std::string> shipped_labels(const std::string& task, int64_t classes) {
  const std::string name = fmt::format("labels/{}-{}.txt", task, classes);
  try {
    return read_labels(shipped(name), classes);
  } catch (const Error&) {  // no data set of this size, or a build without the lists
    return {};
  }
}

}  // namespace

bool are_names(const std::vector<std::string>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != fmt::format("LABEL_{}", i)) return true;
  }
  return false;
}

std::vector<std::string> read_labels(const fs::path& path, int64_t classes) {
  const Bytes file = map_file(path);
  std::vector<std::string> labels;
  for (std::string_view rest = file.data; !rest.empty();) {
    const int64_t line = static_cast<int64_t>(labels.size()) + 1;
    if (line > classes) fail("{}: more names than the model has classes ({})", file.name, classes);
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view label = rest.substr(0, end);
    if (label.ends_with('\r')) label.remove_suffix(1);
    check_label(label, fmt::format("{}:{}", file.name, line));
    labels.emplace_back(label);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (static_cast<int64_t>(labels.size()) == classes) return labels;
  fail("{}: {} names, the model has {} classes", file.name, labels.size(), classes);
}

std::vector<std::string> find_labels(const fs::path& folder, const Settings& settings,
                                     const std::vector<std::string>& from_config) {
  const int64_t classes = settings.num_classes();
  if (classes == 0) return {};
  const fs::path beside = folder / "labels.txt";
  // Not exists(): that throws for a link to itself.
  if (fs::exists(fs::symlink_status(beside))) return read_labels(beside, classes);
  for (const std::string& label : from_config) {
    check_label(label, (folder / "config.json").string());
  }
  if (are_names(from_config)) return from_config;
  const std::vector<std::string> labels = shipped_labels(settings.task(), classes);
  return labels.empty() ? from_config : labels;
}

}  // namespace perceiver
