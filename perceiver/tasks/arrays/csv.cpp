#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "perceiver/core/names.h"
#include "perceiver/core/number.h"
#include "perceiver/data/delimited.h"
#include "perceiver/modalities/utf8.h"
#include "perceiver/tasks/arrays/table.h"
#include "perceiver/weights/bytes.h"

namespace perceiver {
namespace {

using Column = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool is_missing(const std::string& text) {
  static const std::set<std::string> kMissing = {"",    "?",   "NA",   "N/A",
                                                 "NaN", "nan", "null", "NULL"};
  return kMissing.contains(text);
}

std::optional<double> number_of(const std::string& text) {
  return number_in<double>(std::string_view(text).substr(text[0] == '+' ? 1 : 0));
}

bool has_words(const Column& column) {
  return std::ranges::any_of(
      column, [](const std::string& text) { return !is_missing(text) && !number_of(text); });
}

// A file's columns as texts.
struct Texts {
  std::string name;
  std::map<std::string, Column> columns;
  size_t rows = 0;
};

Texts read_texts(const std::string& path, const std::set<std::string>& wanted) {
  const bool tabs = path.ends_with(".tsv");
  DelimitedReader reader(path, {.separator = tabs ? '\t' : ',', .quotes = !tabs});
  const auto next = [&] {
    try {
      return reader.next();
    } catch (const Error& e) {
      fail("{}:{}: {}", path, reader.line(), e.what());
    }
  };
  const std::optional<std::vector<std::string>> header = next();
  if (!header) fail("{}: is empty, expected a line with the names of the columns", path);
  std::vector<std::string> names;
  for (const std::string& name : *header) names.push_back(trimmed(name));
  if (std::ranges::all_of(names, [](const auto& name) { return number_of(name).has_value(); })) {
    fail("{}:1: are numbers, expected the names of the columns", path);
  }
  Texts texts{.name = path, .columns = {}};
  for (const std::string& column : wanted) {
    if (std::ranges::find(names, column) == names.end()) {
      fail("{}: has no column '{}'{}; there are {}", path, column, did_you_mean(column, names),
           fmt::join(names, ", "));
    }
  }
  while (const auto record = next()) {
    if (record->size() != names.size()) {
      fail("{}:{}: {} fields, expected {} as in the first line", path, reader.line(),
           record->size(), names.size());
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (wanted.contains(names[i])) texts.columns[names[i]].push_back(trimmed((*record)[i]));
    }
    ++texts.rows;
  }
  if (texts.rows == 0) fail("{}: has no rows", path);
  return texts;
}

// Groups one after another, each in its order; those rows that are equal in both as they stood.
std::vector<int64_t> row_order(const Texts& texts, const TableWindow& window) {
  std::vector<int64_t> rows(texts.rows);
  std::iota(rows.begin(), rows.end(), 0);
  if (!window.order.empty()) {
    const Column& column = texts.columns.at(window.order);
    if (has_words(column)) {  // dates as 2016-07-01 among them
      std::ranges::stable_sort(rows, {}, [&](int64_t row) { return column[row]; });
    } else {
      std::ranges::stable_sort(rows, {}, [&](int64_t row) {
        return is_missing(column[row]) ? -INFINITY : *number_of(column[row]);
      });
    }
  }
  if (!window.group.empty()) {
    const Column& column = texts.columns.at(window.group);
    std::ranges::stable_sort(rows, {}, [&](int64_t row) { return column[row]; });
  }
  return rows;
}

std::vector<int64_t> group_ends(const Texts& texts, const TableWindow& window,
                                const std::vector<int64_t>& order) {
  std::vector<int64_t> ends;
  for (size_t i = 1; i < order.size() && !window.group.empty(); ++i) {
    const Column& column = texts.columns.at(window.group);
    if (column[order[i]] != column[order[i - 1]]) ends.push_back(static_cast<int64_t>(i));
  }
  ends.push_back(static_cast<int64_t>(order.size()));
  return ends;
}

Tensor numbers(const Column& column, const std::vector<int64_t>& order) {
  Tensor values = at::empty({std::ssize(column)}, at::kDouble);
  auto* value = values.mutable_data_ptr<double>();
  for (const int64_t row : order)
    *value++ = is_missing(column[row]) ? NAN : *number_of(column[row]);
  return values;
}

Tensor numbers_of_words(const Column& column, const std::vector<int64_t>& order,
                        const std::vector<std::string>& words) {
  std::map<std::string, int64_t> places;
  for (size_t i = 0; i < words.size(); ++i) places.emplace(words[i], i);
  Tensor values = at::empty({std::ssize(column)}, at::kLong);
  auto* value = values.mutable_data_ptr<int64_t>();
  for (const int64_t row : order) {
    const auto found = places.find(column[row]);
    *value++ = found == places.end() ? -1 : found->second;
  }
  return values;
}

// [rows, length], what is behind a text's end -1.
Tensor bytes_of(const Column& column, const std::vector<int64_t>& order, int64_t length) {
  Tensor values = at::full({std::ssize(column), length}, -1, at::kLong);
  auto* value = values.mutable_data_ptr<int64_t>();
  for (const int64_t row : order) {
    const std::string text = is_missing(column[row]) ? "" : column[row];
    for (int64_t i = 0; i < std::min(length, std::ssize(text)); ++i) {
      value[i] = static_cast<unsigned char>(text[i]);
    }
    value += length;
  }
  return values;
}

// Each array [starts, rows of a window], without a copy; those windows that lie in one group.
void cut_windows(ArrayTable& table, const TableWindow& window) {
  table.window = window.rows;
  for (auto& [name, array] : table.arrays) {
    if (array.size(0) < window.rows) {
      fail("{}: {} rows, a window takes {} (data.window.rows)", table.name, array.size(0),
           window.rows);
    }
    array = array.unfold(0, window.rows, 1).movedim(-1, 1);
  }
  int64_t begin = 0;
  for (const int64_t end : table.group_ends) {
    for (int64_t start = begin; start + window.rows <= end; start += window.stride) {
      table.examples.push_back(start);
    }
    begin = end;
  }
  if (table.examples.empty()) {
    fail("{}: no group of '{}' has the {} rows of a window (data.window.rows)", table.name,
         window.group, window.rows);
  }
}

}  // namespace

bool is_csv(const std::string& path) { return path.ends_with(".csv") || path.ends_with(".tsv"); }

std::vector<ArrayTable> read_csv_tables(const std::vector<std::string>& paths,
                                        const std::vector<std::string>& needed,
                                        const ColumnWords& known, const TableWindow& window,
                                        const ColumnBytes& bytes) {
  std::set<std::string> wanted(needed.begin(), needed.end());
  for (const std::string& name : {window.order, window.group}) {
    if (!name.empty()) wanted.insert(name);
  }
  std::vector<Texts> texts;
  for (const std::string& path : paths) texts.push_back(read_texts(path, wanted));
  ColumnWords words;
  for (const std::string& name : needed) {
    if (bytes.contains(name)) continue;
    const auto given = known.find(name);
    const auto of_words = [&](const Texts& file) { return has_words(file.columns.at(name)); };
    if (given != known.end()) {
      words[name] = given->second;
    } else if (std::ranges::any_of(texts, of_words)) {
      std::set<std::string> all;
      for (const Texts& file : texts) {
        for (const std::string& word : file.columns.at(name)) {
          if (is_missing(word)) continue;
          if (missing_utf8_bytes(word) != 0) {
            fail("{}: column '{}' has the word '{}', which is not UTF-8", file.name, name,
                 printable(word));
          }
          all.insert(word);
        }
      }
      words[name] = {all.begin(), all.end()};
    }
  }
  std::vector<ArrayTable> tables;
  for (const Texts& file : texts) {
    const std::vector<int64_t> order = row_order(file, window);
    TensorMap arrays;
    for (const std::string& name : needed) {
      const Column& column = file.columns.at(name);
      if (bytes.contains(name)) {
        arrays[name] = bytes_of(column, order, bytes.at(name));
        continue;
      }
      arrays[name] = words.contains(name) ? numbers_of_words(column, order, words.at(name))
                                          : numbers(column, order);
    }
    tables.push_back(table_of(file.name, std::move(arrays), needed));
    tables.back().words = words;
    if (window.rows == 0) continue;
    tables.back().examples.clear();
    tables.back().group_ends = group_ends(file, window, order);
    cut_windows(tables.back(), window);
  }
  return tables;
}

}  // namespace perceiver
