#include "perceiver/data/labelled_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "perceiver/core/alternatives.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/names.h"
#include "perceiver/data/rows.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kEachColumn = "*";  // data.label: each is a class

std::vector<std::string> columns_of(const std::vector<FileRecord>& records) {
  std::set<std::string> names;
  for (const FileRecord& record : records) {
    for (const auto& [name, cell] : record.columns) names.insert(name);
  }
  return {names.begin(), names.end()};
}

bool have_column(const std::vector<FileRecord>& records, const std::string& name) {
  return std::ranges::any_of(records,
                             [&](const FileRecord& r) { return r.columns.contains(name); });
}

std::string cell_of(const FileRecord& record, const std::string& column) {
  const auto found = record.columns.find(column);
  return found == record.columns.end() ? "" : found->second;
}

// "fold=4,5" of a key.
struct Condition {
  Condition(const char* key, const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
      fail("{} is '{}', expected a column and its values, such as fold=4,5", key, text);
    }
    column = trimmed(text.substr(0, equals));
    for (const std::string& value : alternatives_of(text.substr(equals + 1))) {
      values.insert(trimmed(value));
    }
  }

  bool holds(const FileRecord& record) const { return values.contains(cell_of(record, column)); }

  std::string column;
  std::set<std::string> values;
};

void check_column(const std::vector<FileRecord>& records, const std::string& column,
                  const char* key, const std::string& source) {
  if (have_column(records, column)) return;
  const std::vector<std::string> known = columns_of(records);
  fail("{}: no column '{}'{}; there is {}; {} says which it is", source, column,
       did_you_mean(column, known), fmt::join(known, ", "), key);
}

// As it is named, or in the folder, or beside it, where ESC-50 has it.
fs::path find_table(const std::string& table, const fs::path& folder) {
  for (const fs::path& place :
       {fs::path(table), folder / table, folder.lexically_normal().parent_path() / table}) {
    if (fs::is_regular_file(place)) return place;
  }
  fail("data.table is '{}', which is neither here nor in {} nor beside it", table, folder.string());
}

std::optional<fs::path> only_table_in(const fs::path& folder) {
  std::vector<fs::path> tables = sorted_entries(folder);
  std::erase_if(tables, [](const fs::path& path) { return path.extension() != ".csv"; });
  if (tables.empty()) return {};
  if (tables.size() > 1) {
    fail("{}: has several tables, {} and {}; data.table says which it is", folder.string(),
         tables[0].filename().string(), tables[1].filename().string());
  }
  return tables[0];
}

// All files of a folder or table that `rows` lets through.
class Source {
 public:
  Source(const LabelledFilesConfig& config, const std::string& name, const IsWanted& is_wanted)
      : config_(config), name_(name), records_(read(is_wanted)) {
    if (records_.empty()) {
      fail(
          "{}: there are no files of this task in it, expected a table (.csv), a folder for each "
          "class, or names that data.pattern reads",
          name);
    }
    if (!config_.rows.empty()) {
      const Condition used("data.rows", config.rows);
      check_column(records_, used.column, "data.rows", name);
      std::erase_if(records_, [&](const FileRecord& r) { return !used.holds(r); });
      if (records_.empty()) fail("{}: no row has {} (data.rows)", name, config.rows);
    }
  }

  // By data.held_out_rows, else by splits, else by data.held_out_per_class.
  std::vector<LabelledRow> part(DataPart part) const {
    if (!config_.held_out_rows.empty()) {
      const Condition held_out("data.held_out_rows", config_.held_out_rows);
      check_column(records_, held_out.column, "data.held_out_rows", name_);
      return rows_where(
          [&](const FileRecord& r) { return held_out.holds(r) == (part == DataPart::kHeldOut); });
    }
    if (has_splits()) return split(part);
    if (config_.held_out_per_class > 0) return spread(part);
    return rows_where([&](const FileRecord&) { return part == DataPart::kTrain; });
  }

  // Of a source that is there to be measured on.
  std::vector<LabelledRow> measured() const {
    if (!config_.held_out_rows.empty()) {
      const Condition held_out("data.held_out_rows", config_.held_out_rows);
      const auto holds = [&](const FileRecord& r) { return held_out.holds(r); };
      if (std::ranges::any_of(records_, holds)) return rows_where(holds);
    }
    if (has_splits()) {
      std::vector<LabelledRow> rows = split(DataPart::kHeldOut);
      if (!rows.empty()) return rows;
    }
    return rows_where([](const FileRecord&) { return true; });
  }

 private:
  std::vector<FileRecord> read(const IsWanted& is_wanted) const {
    const fs::path source(name_);
    const TableFormat format = {
        .times = config_.whole_videos ? TimesOf::kWholeVideos : TimesOf::kCutFiles,
        .classes_are_columns = config_.label == kEachColumn};
    if (source.extension() == ".csv" && !fs::is_directory(source)) {
      const fs::path folder = source.parent_path();
      return records_of_table(source, folder.empty() ? "." : folder, format, is_wanted);
    }
    if (!fs::is_directory(source)) {
      fail("{}: is no folder and no table (.csv), expected one with files to train or measure on",
           name_);
    }
    if (!config_.table.empty()) {
      return records_of_table(find_table(config_.table, source), source, format, is_wanted);
    }
    if (!config_.pattern.empty()) {
      return records_of_names(source, NamePattern(config_.pattern), is_wanted);
    }
    if (const std::optional<fs::path> table = only_table_in(source)) {
      return records_of_table(*table, source, format, is_wanted);
    }
    return records_of_folders(source, is_wanted);
  }

  bool has_splits() const {
    return std::ranges::any_of(records_, [](const FileRecord& r) {
      const std::string split = cell_of(r, "split");
      return is_train_split(split) || is_validation_split(split);
    });
  }

  // Test rows count where there are none to validate on: those of Kinetics have no labels.
  std::vector<LabelledRow> split(DataPart part) const {
    const auto cell = [](const FileRecord& r) { return cell_of(r, "split"); };
    if (part == DataPart::kTrain) {
      return rows_where([&](const FileRecord& r) { return is_train_split(cell(r)); });
    }
    std::vector<LabelledRow> rows =
        rows_where([&](const FileRecord& r) { return is_validation_split(cell(r)); });
    if (!rows.empty()) return rows;
    return rows_where([&](const FileRecord& r) { return is_test_split(cell(r)); });
  }

  // data.held_out_per_class of each class, by its first label.
  std::vector<LabelledRow> spread(DataPart part) const {
    std::vector<LabelledRow> rows = rows_where([](const FileRecord&) { return true; });
    std::ranges::stable_sort(rows, {}, [](const LabelledRow& row) { return row.path; });
    std::map<std::string, int64_t> counts, seen;
    const auto class_of = [](const LabelledRow& row) {
      return row.labels.empty() ? "" : row.labels[0];
    };
    for (const LabelledRow& row : rows) {
      if (row.error.empty()) ++counts[class_of(row)];
    }
    const int64_t held_out = config_.held_out_per_class;
    for (const auto& [name, count] : counts) {
      if (count <= held_out) {
        fail(
            "{}: '{}' has {} file{}, none to train on when data.held_out_per_class ({}) are held "
            "out",
            name_, name, count, count == 1 ? "" : "s", held_out);
      }
    }
    std::vector<LabelledRow> kept;
    for (LabelledRow& row : rows) {
      bool is_held_out = false;
      if (row.error.empty()) {
        const std::string name = class_of(row);
        const double share = static_cast<double>(held_out) / static_cast<double>(counts[name]);
        is_held_out = in_share(seen[name]++, share);
      }
      if (is_held_out == (part == DataPart::kHeldOut)) kept.push_back(std::move(row));
    }
    return kept;
  }

  template <typename Holds>
  std::vector<LabelledRow> rows_where(const Holds& holds) const {
    const std::string column = label_column();
    std::vector<LabelledRow> rows;
    for (const FileRecord& record : records_) {
      if (holds(record)) rows.push_back(row_of(record, column));
    }
    return rows;
  }

  std::string label_column() const {
    if (config_.label == kEachColumn) return config_.label;
    if (!config_.label.empty()) {
      check_column(records_, config_.label, "data.label", name_);
      return config_.label;
    }
    for (const char* name : {"label", "labels", "category", "class", "target"}) {
      if (have_column(records_, name)) return name;
    }
    fail("{}: no column of classes; there is {}; data.label says which it is", name_,
         fmt::join(columns_of(records_), ", "));
  }

  LabelledRow row_of(const FileRecord& record, const std::string& column) const {
    const bool columns = column == kEachColumn;
    LabelledRow row{.path = record.path,
                    .labels = columns ? record.classes : labels_of(cell_of(record, column), column),
                    .start = record.start,
                    .end = record.end,
                    .place = record.place,
                    .error = record.error};
    if (row.error.empty() && row.labels.empty()) {
      row.error = columns ? fmt::format("{}: no column has a 1, expected a class", row.place)
                          : fmt::format("{}: no label in the column '{}', expected a class",
                                        row.place, column);
    }
    return row;
  }

  std::vector<std::string> labels_of(const std::string& cell, const std::string& column) const {
    std::string separators = config_.separator;
    if (separators.empty() && column == "labels") separators = ",;|";
    std::vector<std::string> labels;
    for (size_t at = 0; at <= cell.size();) {
      const size_t end = separators.empty()
                             ? cell.size()
                             : std::min(cell.find_first_of(separators, at), cell.size());
      std::string label = trimmed(cell.substr(at, end - at));
      if (!label.empty()) labels.push_back(std::move(label));
      at = end + 1;
    }
    return labels;
  }

  const LabelledFilesConfig& config_;
  std::string name_;
  std::vector<FileRecord> records_;
};

bool is_trained_on(const LabelledFilesConfig& config, const std::string& source) {
  return std::ranges::any_of(config.train, [&](const std::string& name) {
    std::error_code ignored;
    return fs::equivalent(name, source, ignored);
  });
}

// Of many the first few.
std::string some_of(const std::set<std::string>& names) {
  constexpr size_t kMostNamed = 10;
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() < kMostNamed) some.push_back("'" + name + "'");
  }
  if (names.size() > kMostNamed) some.push_back(fmt::format("{} more", names.size() - kMostNamed));
  return fmt::format("{}", fmt::join(some, ", "));
}

}  // namespace

std::vector<LabelledRow> labelled_rows(const LabelledFilesConfig& config, DataPart part,
                                       const IsWanted& is_wanted) {
  if (part == DataPart::kTrain && config.train.empty()) {
    fail("data.train names no folder; give one with --data");
  }
  const bool named = part == DataPart::kHeldOut && !config.held_out.empty();
  std::vector<LabelledRow> all;
  for (const std::string& name : named ? config.held_out : config.train) {
    const Source source(config, name, is_wanted);
    std::vector<LabelledRow> rows;
    if (!named || is_trained_on(config, name)) rows = source.part(part);
    if (named && rows.empty()) rows = source.measured();  // no rule holds anything out of it
    std::ranges::move(rows, std::back_inserter(all));
  }
  if (part == DataPart::kTrain && all.empty()) {
    fail("{}: everything is held out, nothing is left to train on", config.train[0]);
  }
  if (!all.empty() &&
      std::ranges::all_of(all, [](const LabelledRow& row) { return !row.error.empty(); })) {
    fail("{}; so it is with all {} rows", all[0].error, all.size());
  }
  return all;
}

std::vector<std::string> class_names(const std::vector<LabelledRow>& rows,
                                     const std::vector<std::string>& model_names) {
  std::set<std::string> found;
  for (const LabelledRow& row : rows) {
    if (row.error.empty()) found.insert(row.labels.begin(), row.labels.end());
  }
  if (model_names.empty()) return {found.begin(), found.end()};
  const std::set<std::string> known(model_names.begin(), model_names.end());
  for (const LabelledRow& row : rows) {
    if (!row.error.empty()) continue;
    for (const std::string& label : row.labels) {
      if (known.contains(label)) continue;
      std::set<std::string> strange;
      std::ranges::set_difference(found, known, std::inserter(strange, strange.end()));
      fail(
          "{}: labels and the model's classes must have the same names; labels without a class: "
          "{}; the model's classes: {}",
          row.place, some_of(strange), some_of(known));
    }
  }
  return model_names;
}

ClassNumbers::ClassNumbers(std::vector<std::string> names) : names_(std::move(names)) {
  for (const std::string& name : names_) numbers_.emplace(name, std::ssize(numbers_));
}

std::vector<int64_t> ClassNumbers::of(const LabelledRow& row) const {
  std::vector<int64_t> numbers;
  for (const std::string& label : row.labels) {
    const auto found = numbers_.find(label);
    if (found == numbers_.end()) {
      fail("{}: '{}' is none of the classes{}", row.place, label, did_you_mean(label, names_));
    }
    numbers.push_back(found->second);
  }
  return numbers;
}

}  // namespace perceiver
