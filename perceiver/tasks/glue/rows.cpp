#include "perceiver/tasks/glue/rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string expected_label(const GlueBenchmark& benchmark) {
  if (benchmark.is_value()) return fmt::format("a number from 0 to {}", kMostSimilar);
  return fmt::format("{} or a number from 0 to {}", fmt::join(benchmark.classes, ", "),
                     benchmark.classes.size() - 1);
}

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

double label_of(std::string_view text, const GlueBenchmark& benchmark) {
  const auto& classes = benchmark.classes;
  const auto named = std::ranges::find(classes, text);
  if (named != classes.end()) return static_cast<double>(named - classes.begin());
  const std::optional<double> value = number(text);
  const bool in_range =
      value && *value >= 0.0 &&
      (benchmark.is_value() ? *value <= kMostSimilar
                            : *value < static_cast<double>(classes.size()) &&
                                  *value == static_cast<double>(static_cast<int64_t>(*value)));
  if (!in_range) fail("label '{}', expected {}", text, expected_label(benchmark));
  return *value;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == line.npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

// How many columns a file has that has all that the benchmark needs, and no header to say so.
size_t fewest_columns(const GlueBenchmark& b) {
  return std::max({b.text_a, b.text_b.value_or(0), b.label.value_or(0)}) + 1;
}

// Quotes are letters like others, as in the official files.
class TsvRows {
 public:
  explicit TsvRows(const GlueBenchmark& benchmark)
      : benchmark_(benchmark), columns_(benchmark.header ? 0 : fewest_columns(benchmark)) {}

  std::optional<GlueRow> read(std::string_view line) {
    const std::vector<std::string_view> columns = columns_of(line);
    if (columns_ == 0) {
      const size_t fewest = fewest_columns(benchmark_) + (benchmark_.label ? 0 : 1);
      if (columns.size() < fewest) {
        fail("a header of {} columns, expected {} or more", columns.size(), fewest);
      }
      columns_ = columns.size();
      return {};
    }
    if (columns.size() != columns_) fail("{} columns, expected {}", columns.size(), columns_);
    const std::string_view label = columns[benchmark_.label.value_or(columns_ - 1)];
    return GlueRow{.text_a = std::string(columns[benchmark_.text_a]),
                   .text_b = benchmark_.text_b ? std::string(columns[*benchmark_.text_b]) : "",
                   .label = label_of(label, benchmark_)};
  }

 private:
  const GlueBenchmark& benchmark_;
  size_t columns_;  // of every line; 0 before the header
};

class JsonRows {
 public:
  explicit JsonRows(const GlueBenchmark& benchmark) : benchmark_(benchmark) {}

  std::optional<GlueRow> read(std::string_view line) const {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) fail("no JSON object, expected {{\"text_a\": …, \"label\": …}}");
    return GlueRow{.text_a = text(json, "text_a"),
                   .text_b = benchmark_.text_b ? text(json, "text_b") : "",
                   .label = label(json)};
  }

 private:
  static const Json& value(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end()) fail("no \"{}\" in this object", key);
    return *found;
  }

  static std::string text(const Json& json, const char* key) {
    const Json& found = value(json, key);
    if (!found.is_string()) fail("\"{}\" is no string", key);
    return found.get<std::string>();
  }

  double label(const Json& json) const {
    const Json& found = value(json, "label");
    return label_of(found.is_string() ? found.get<std::string>() : found.dump(), benchmark_);
  }

  const GlueBenchmark& benchmark_;
};

template <typename Rows>
std::vector<GlueRow> read_rows(const fs::path& path, Rows rows, Unreadable unreadable) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot open", path.string());
  std::vector<GlueRow> all;
  std::string line;
  for (int64_t number = 1; std::getline(stream, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // MRPC's begin so
    try {
      if (line.empty()) fail("an empty line, expected an example");
      std::optional<GlueRow> row = rows.read(line);
      if (!row) continue;
      if (row->text_a.empty() && row->text_b.empty()) fail("no text, expected some");
      all.push_back(std::move(*row));
    } catch (const Error& e) {
      std::string error = fmt::format("{}:{}: {}", path.string(), number, e.what());
      if (unreadable == Unreadable::kStop) throw Error(error);
      all.push_back({.error = std::move(error)});
    }
  }
  if (std::ranges::all_of(all, [](const GlueRow& row) { return !row.error.empty(); })) {
    fail("{}: there are no examples in it that can be read", path.string());
  }
  return all;
}

fs::path first_of(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const char* ending : {".tsv", ".jsonl"}) {
      const fs::path path = folder / (std::string(name) + ending);
      if (fs::exists(path)) return path;
    }
  }
  return {};
}

GlueFiles files_in(const fs::path& folder) {
  GlueFiles files{first_of(folder, {"train"}),
                  first_of(folder, {"dev", "dev_matched", "validation", "validation_matched"}),
                  first_of(folder, {"dev_mismatched", "validation_mismatched"})};
  if (files.train.empty() && files.dev.empty()) {
    fail("{}: there is no train.tsv, train.jsonl, dev.tsv or dev.jsonl in it", folder.string());
  }
  return files;
}

bool is_of(const fs::path& folder, const GlueBenchmark& benchmark) {
  const std::string name = fs::canonical(folder).filename().string();  // of "a/" and of "."
  const GlueBenchmark* found = benchmark_of_folder(name);
  return found != nullptr && found->name == benchmark.name;
}

}  // namespace

std::vector<GlueRow> read_glue_rows(const fs::path& path, const GlueBenchmark& benchmark,
                                    Unreadable unreadable) {
  if (path.extension() == ".tsv") return read_rows(path, TsvRows(benchmark), unreadable);
  return read_rows(path, JsonRows(benchmark), unreadable);
}

GlueFiles find_glue_files(const fs::path& root, const GlueBenchmark& benchmark) {
  if (!fs::is_directory(root)) {
    fail("{}: no such folder, expected GLUE's, with one for each task", root.string());
  }
  if (is_of(root, benchmark)) return files_in(root);
  std::vector<fs::path> own;
  std::vector<std::string> others;
  for (const fs::path& entry : sorted_entries(root)) {
    if (!fs::is_directory(entry)) continue;
    const bool is_own = is_of(entry, benchmark);
    if (is_own) own.push_back(entry);
    if (!is_own) others.push_back(entry.filename().string());
  }
  if (own.empty()) {
    fail(
        "{}: no folder of the task {}, such as {}/train.tsv; there is {}; model.tasks says which "
        "tasks are wanted",
        root.string(), benchmark.name, benchmark.name,
        others.empty() ? "none" : fmt::format("{}", fmt::join(others, ", ")));
  }
  if (own.size() > 1) {
    fail("{}: two folders of the task {}: {} and {}; keep one", root.string(), benchmark.name,
         own[0].filename().string(), own[1].filename().string());
  }
  return files_in(own[0]);
}

}  // namespace perceiver
