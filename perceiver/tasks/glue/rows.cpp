#include "perceiver/tasks/glue/rows.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/number.h"
#include "perceiver/data/delimited.h"
#include "perceiver/data/json_line.h"
#include "perceiver/data/rows.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::string expected_label(const GlueBenchmark& benchmark) {
  if (benchmark.is_value()) return fmt::format("a number from 0 to {}", kMostSimilar);
  return fmt::format("{} or a number from 0 to {}", fmt::join(benchmark.classes, ", "),
                     benchmark.classes.size() - 1);
}

double label_of(std::string_view text, const GlueBenchmark& benchmark) {
  const auto& classes = benchmark.classes;
  const auto named = std::ranges::find(classes, text);
  if (named != classes.end()) return static_cast<double>(named - classes.begin());
  const std::optional<double> value = number_in<double>(text);
  const bool in_range =
      value && *value >= 0.0 &&
      (benchmark.is_value() ? *value <= kMostSimilar
                            : *value < static_cast<double>(classes.size()) &&
                                  *value == static_cast<double>(static_cast<int64_t>(*value)));
  if (!in_range) fail("label '{}', expected {}", text, expected_label(benchmark));
  return *value;
}

// How many columns a file has that has all that the benchmark needs, and no header to say so.
size_t fewest_columns(const GlueBenchmark& b) {
  return std::max({b.text_a, b.text_b.value_or(0), b.label.value_or(0)}) + 1;
}

void check_text(const GlueRow& row) {
  if (row.text_a.empty() && row.text_b.empty()) fail("no text, expected some");
}

class TsvRows {
 public:
  TsvRows(const fs::path& path, const GlueBenchmark& benchmark)
      : reader_(path, {.separator = '\t', .quotes = false}),
        benchmark_(benchmark),
        columns_(benchmark.header ? 0 : fewest_columns(benchmark)) {}

  int64_t line() const { return reader_.line(); }

  std::optional<GlueRow> next() {
    std::optional<std::vector<std::string>> columns = reader_.next();
    if (columns && columns_ == 0) {
      take_header(*columns);
      columns = reader_.next();
    }
    if (!columns) return {};
    if (columns->size() != columns_) fail("{} columns, expected {}", columns->size(), columns_);
    const std::string& label = (*columns)[benchmark_.label.value_or(columns_ - 1)];
    GlueRow row{.text_a = (*columns)[benchmark_.text_a],
                .text_b = benchmark_.text_b ? (*columns)[*benchmark_.text_b] : "",
                .label = label_of(label, benchmark_)};
    check_text(row);
    return row;
  }

 private:
  void take_header(const std::vector<std::string>& columns) {
    const size_t fewest = fewest_columns(benchmark_) + (benchmark_.label ? 0 : 1);
    if (columns.size() < fewest) {
      fail("a header of {} columns, expected {} or more", columns.size(), fewest);
    }
    columns_ = columns.size();
  }

  DelimitedReader reader_;
  const GlueBenchmark& benchmark_;
  size_t columns_;  // of every line; 0 before the header
};

class JsonRows {
 public:
  JsonRows(const fs::path& path, const GlueBenchmark& benchmark)
      : lines_(path), benchmark_(benchmark) {}

  int64_t line() const { return lines_.number(); }

  std::optional<GlueRow> next() {
    std::string line;
    if (!lines_.next(line)) return {};
    if (line.empty()) fail("an empty line, expected an example");
    const JsonLine json(line, "{\"text_a\": …, \"label\": …}");
    GlueRow row{.text_a = json.text("text_a"),
                .text_b = benchmark_.text_b ? json.text("text_b") : "",
                .label = label_of(json.word("label"), benchmark_)};
    check_text(row);
    return row;
  }

 private:
  TextLines lines_;
  const GlueBenchmark& benchmark_;
};

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
  const bool keep = unreadable == Unreadable::kSkip;
  if (path.extension() == ".tsv") {
    TsvRows rows(path, benchmark);
    return read_rows<GlueRow>(path.string(), rows, keep);
  }
  JsonRows rows(path, benchmark);
  return read_rows<GlueRow>(path.string(), rows, keep);
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
