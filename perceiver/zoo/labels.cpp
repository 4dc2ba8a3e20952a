#include "perceiver/zoo/labels.h"

#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

// 0: the model has no classes.
int64_t num_classes(const File& settings) {
  return with_settings(settings, {}, [](const auto& s) -> int64_t {
    if constexpr (requires { s.model.num_classes; }) return s.model.num_classes;
    return 0;
  });
}

// transformers writes "LABEL_3" where it was told no name.
bool are_names(const std::vector<std::string>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != fmt::format("LABEL_{}", i)) return true;
  }
  return false;
}

std::vector<std::string> shipped_labels(const std::string& task, int64_t classes) {
  const std::string name = fmt::format("labels/{}-{}.txt", task, classes);
  try {
    return read_labels(read_file(shipped(name)));
  } catch (const Error&) {  // no data set of this size, or a build without the lists
    return {};
  }
}

}  // namespace

std::vector<std::string> read_labels(const File& file) { return lines_of(file.bytes); }

std::vector<std::string> find_labels(const fs::path& folder, const File& settings,
                                     const std::vector<std::string>& from_config) {
  const int64_t classes = num_classes(settings);
  if (classes == 0) return {};
  const fs::path beside = folder / "labels.txt";
  if (fs::exists(beside)) {
    const std::vector<std::string> labels = read_labels(read_file(beside));
    if (static_cast<int64_t>(labels.size()) == classes) return labels;
    fail("{}: {} names, the model has {} classes", beside.string(), labels.size(), classes);
  }
  if (are_names(from_config)) return from_config;
  const std::vector<std::string> labels =
      shipped_labels(read_config_key(settings, "task"), classes);
  return labels.empty() ? from_config : labels;
}

}  // namespace perceiver
