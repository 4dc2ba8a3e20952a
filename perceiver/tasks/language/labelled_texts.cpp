#include "perceiver/tasks/language/labelled_texts.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/names.h"
#include "perceiver/data/delimited.h"
#include "perceiver/data/json_line.h"
#include "perceiver/data/rows.h"
#include "perceiver/modalities/utf8.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPair = "text_b";

// Labels become names of classes, which are printed and stand in a list, a line each.
void check_label(const std::string& label) {
  constexpr size_t kLongest = 1000;
  if (label.empty()) fail("an empty label, expected a class's name");
  if (label.size() > kLongest) {
    fail("a label of {} bytes, expected at most {}", label.size(), kLongest);
  }
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (missing_utf8_bytes(label) != 0 || std::ranges::any_of(label, is_control)) {
    fail("a label with control characters, or not in UTF-8, expected a class's name");
  }
}

LabelledText checked(LabelledText row) {
  if (row.text.empty()) fail("no text, expected some");
  check_label(row.label);
  return row;
}

class DelimitedTexts {
 public:
  DelimitedTexts(const fs::path& path, const TextColumns& columns)
      : reader_(path,
                path.extension() == ".tsv" ? DelimitedFormat{'\t', false} : DelimitedFormat{}),
        file_(std::make_shared<const std::string>(path.string())) {
    try {
      const std::optional<std::vector<std::string>> header = reader_.next();
      if (header) take_header(*header, columns);
    } catch (const Error& e) {
      fail("{}:1: {}", *file_, e.what());
    }
  }

  int64_t line() const { return reader_.line(); }

  std::optional<LabelledText> next() {
    const std::optional<std::vector<std::string>> fields = reader_.next();
    if (!fields) return {};
    if (fields->size() != num_columns_) {
      fail("{} field{}, expected {} as in the first line", fields->size(),
           fields->size() == 1 ? "" : "s", num_columns_);
    }
    return checked({.text = (*fields)[text_],
                    .pair = pair_ ? (*fields)[*pair_] : "",
                    .label = (*fields)[label_],
                    .file = file_,
                    .line = line()});
  }

 private:
  void take_header(const std::vector<std::string>& header, const TextColumns& columns) {
    num_columns_ = header.size();
    const auto found = [&](const std::string& name, const char* key) -> size_t {
      const auto column = std::ranges::find(header, name);
      if (column == header.end()) {
        fail("no column '{}'{}; there is {}; data.{} says which it is", name,
             did_you_mean(name, header), fmt::join(header, ", "), key);
      }
      return column - header.begin();
    };
    text_ = found(columns.text, "text_column");
    label_ = found(columns.label, "label_column");
    if (columns.pair || std::ranges::count(header, kPair) > 0) {
      pair_ = found(columns.pair.value_or(kPair), "pair_column");
    }
  }

  DelimitedReader reader_;
  std::shared_ptr<const std::string> file_;
  size_t num_columns_ = 0, text_ = 0, label_ = 0;
  std::optional<size_t> pair_;
};

class JsonTexts {
 public:
  JsonTexts(const fs::path& path, const TextColumns& columns)
      : lines_(path),
        file_(std::make_shared<const std::string>(path.string())),
        columns_(columns),
        shape_(fmt::format("{{\"{}\": …, \"{}\": …}}", columns.text, columns.label)) {}

  int64_t line() const { return lines_.number(); }

  std::optional<LabelledText> next() {
    std::string line;
    if (!lines_.next(line)) return {};
    if (line.empty()) fail("an empty line, expected an example");
    const JsonLine json(line, shape_);
    const std::string pair = columns_.pair.value_or(kPair);
    return checked({.text = json.text(columns_.text),
                    .pair = columns_.pair || json.has(pair) ? json.text(pair) : "",
                    .label = json.word(columns_.label),
                    .file = file_,
                    .line = this->line()});
  }

 private:
  TextLines lines_;
  std::shared_ptr<const std::string> file_;
  TextColumns columns_;
  std::string shape_;
};

template <typename Texts>
std::vector<LabelledText> all_of(const fs::path& path, const TextColumns& columns,
                                 Unreadable unreadable) {
  Texts texts(path, columns);
  return read_rows<LabelledText>(path.string(), texts, unreadable == Unreadable::kSkip);
}

}  // namespace

std::vector<LabelledText> read_labelled_texts(const fs::path& path, const TextColumns& columns,
                                              Unreadable unreadable) {
  const std::string ending = path.extension().string();
  if (ending == ".jsonl") return all_of<JsonTexts>(path, columns, unreadable);
  if (ending == ".csv" || ending == ".tsv")
    return all_of<DelimitedTexts>(path, columns, unreadable);
  fail("{}: expected a file that ends in .csv, .tsv or .jsonl", path.string());
}

}  // namespace perceiver
