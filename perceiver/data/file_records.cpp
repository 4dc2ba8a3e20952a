#include "perceiver/data/file_records.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "perceiver/core/alternatives.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/folder_tree.h"
#include "perceiver/data/delimited.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

using Columns = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 6> kFileColumns = {"file", "filename", "path",
                                                          "clip", "video",    "audio"};

// The files in and below a folder, found by their names without the endings.
class FilesByStem {
 public:
  FilesByStem(const fs::path& folder, const IsWanted& is_wanted) : folder_(folder) {
    for (const fs::path& file : files_below(folder)) {
      if (is_wanted(file)) files_[file.stem().string()].push_back(file);
    }
    if (files_.empty()) {
      fail("{}: there are no files of this task in it or below, expected those of the table",
           folder.string());
    }
  }

  // The file that a cell names; folder and ending may be left out, and the ending may be another
  // one: sounds are often kept in another format than a table says.
  fs::path named(const std::string& cell) const {
    const fs::path asked(cell);
    std::vector<fs::path> found = with_stem(asked.filename().string());
    if (found.empty()) found = with_stem(asked.stem().string());
    keep_where(found, [&](const fs::path& file) {
      return file.parent_path().string().ends_with(asked.parent_path().string());
    });
    keep_where(found, [&](const fs::path& file) { return file.filename() == asked.filename(); });
    if (found.empty()) {
      fail("'{}' is not in {} or below, expected a file of this name", cell, folder_.string());
    }
    if (found.size() > 1) {
      fail("'{}' may be {} or {}, expected one file; name its folder too", cell, found[0].string(),
           found[1].string());
    }
    return found[0];
  }

  // The first of these names that a file has.
  fs::path any_of(const std::vector<std::string>& stems) const {
    for (const std::string& stem : stems) {
      const std::vector<fs::path> found = with_stem(stem);
      if (!found.empty()) return found[0];
    }
    fail("'{}' is not in {} or below, expected a file called so or '{}'", stems.back(),
         folder_.string(), stems.front());
  }

 private:
  std::vector<fs::path> with_stem(const std::string& stem) const {
    const auto found = files_.find(stem);
    return found == files_.end() ? std::vector<fs::path>{} : found->second;
  }

  // Unless none is left.
  template <typename Condition>
  static void keep_where(std::vector<fs::path>& files, const Condition& condition) {
    std::vector<fs::path> kept;
    std::ranges::copy_if(files, std::back_inserter(kept), condition);
    if (!kept.empty()) files = std::move(kept);
  }

  fs::path folder_;
  std::map<std::string, std::vector<fs::path>> files_;
};

double seconds(const std::string& cell, const char* column) {
  size_t end = 0;
  double value = -1.0;
  try {
    value = std::stod(cell, &end);
  } catch (const std::exception&) {
  }
  if (end != cell.size() || !(value >= 0.0) || !std::isfinite(value)) {
    fail("{} is '{}', expected a number of seconds", column, cell);
  }
  return value;
}

// Where a file is found by what its video is called and the times it was cut at.
struct CutFile {
  std::string id;
  double start, end;

  // As the tools name them that people download these data sets with.
  std::vector<std::string> stems() const {
    const auto ms = [](double s) { return std::llround(s * 1000.0); };
    const auto s = [](double s) { return std::llround(s); };
    return {fmt::format("{}_{:06}_{:06}", id, s(start), s(end)),
            fmt::format("{}_{}_{}", id, ms(start), ms(end)),
            fmt::format("{}_{}_{}", id, s(start), s(end)),
            fmt::format("{}_{:.3f}_{:.3f}", id, start, end),
            fmt::format("{}_{}", id, ms(start)),
            fmt::format("{}_{}", id, s(start)),
            fmt::format("Y{}", id),
            id};
  }

  void find(FileRecord& record, const FilesByStem& files, TimesOf times) const {
    const bool whole = times == TimesOf::kWholeVideos;
    record.path = files.any_of(whole ? std::vector{id} : stems());
    if (whole) record.start = start, record.end = end;
  }
};

// Reads a table line by line; `read` fills a record and throws Error for what is wrong with it.
class TableReader {
 public:
  TableReader(const fs::path& table, const fs::path& folder, const TableFormat& format,
              const IsWanted& wanted)
      : table_(table.string()), files_(folder, wanted), format_(format) {}

  std::vector<FileRecord> read_all() {
    std::string first;
    if (!TextLines(table_).next(first)) fail("{}: is empty, expected a line for each file", table_);
    std::vector<FileRecord> records = first.starts_with('#') ? read_audioset() : read_named();
    if (records.empty()) fail("{}: has no rows, expected one for each file", table_);
    return records;
  }

 private:
  template <typename Read>
  void add(std::vector<FileRecord>& records, int64_t line, const Read& read) const {
    FileRecord record;
    record.place = fmt::format("{}:{}", table_, line);
    try {
      read(record);
    } catch (const Error& e) {
      record.error = fmt::format("{}: {}", record.place, e.what());
    }
    records.push_back(std::move(record));
  }

  // YTID, start, end, "label,label" behind comments; the spaces are part of the format.
  std::vector<FileRecord> read_audioset() const {
    std::vector<FileRecord> records;
    TextLines lines(table_);
    for (std::string line; lines.next(line);) {
      if (line.starts_with('#')) continue;
      add(records, lines.number(), [&](FileRecord& record) {
        std::vector<std::string> cells = alternatives_of(line);
        for (std::string& cell : cells) cell = trimmed(cell);
        if (cells.size() != 4) {
          fail("{} field{}, expected 4: YTID, start, end, \"label,label\"", cells.size(),
               cells.size() == 1 ? "" : "s");
        }
        std::string& labels = cells[3];
        if (labels.size() >= 2 && labels.front() == '"' && labels.back() == '"') {
          labels = labels.substr(1, labels.size() - 2);
        }
        record.columns = {{"youtube_id", cells[0]}, {"labels", labels}};
        CutFile{cells[0], seconds(cells[1], "start"), seconds(cells[2], "end")}.find(record, files_,
                                                                                     format_.times);
      });
    }
    return records;
  }

  std::vector<FileRecord> read_named() const {
    DelimitedReader reader(table_, {});
    std::vector<FileRecord> records;
    std::optional<std::vector<std::string>> header, cells;
    try {
      header = reader.next();
    } catch (const Error& e) {
      fail("{}:{}: {}", table_, reader.line(), e.what());
    }
    const std::string file_column = file_column_of(*header);
    for (bool more = true; more;) {
      std::string broken;
      try {
        cells = reader.next();
        more = cells.has_value();
      } catch (const Error& e) {
        broken = e.what();
      }
      if (!more) break;
      add(records, reader.line(), [&](FileRecord& record) {
        if (!broken.empty()) fail("{}", broken);
        if (cells->size() != header->size()) {
          fail("{} field{}, expected {} as in the first line", cells->size(),
               cells->size() == 1 ? "" : "s", header->size());
        }
        add_cells(record, file_column, *header, *cells);
        find_file(record, file_column);
      });
    }
    return records;
  }

  bool is_class(const std::string& column, const std::string& file_column) const {
    constexpr std::array<std::string_view, 4> kNoClasses = {"split", "fold", "start", "end"};
    return format_.classes_are_columns && column != file_column &&
           std::ranges::count(kNoClasses, column) == 0;
  }

  // Classes last: a record that is wrong in these still has its split.
  void add_cells(FileRecord& record, const std::string& file_column,
                 const std::vector<std::string>& header,
                 const std::vector<std::string>& cells) const {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!is_class(header[i], file_column)) record.columns[header[i]] = cells[i];
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!is_class(header[i], file_column)) continue;
      if (cells[i] == "1" || cells[i] == "1.0") {
        record.classes.push_back(header[i]);
      } else if (cells[i] != "0" && cells[i] != "0.0" && !cells[i].empty()) {
        fail("'{}' in the column '{}', expected 1 for a class that the file has, or 0", cells[i],
             header[i]);
      }
    }
  }

  // "" in Kinetics' tables.
  std::string file_column_of(const std::vector<std::string>& header) const {
    const auto has = [&](std::string_view name) { return std::ranges::count(header, name) > 0; };
    if (has("youtube_id") && has("time_start") && has("time_end")) return "";
    const auto found = std::ranges::find_if(kFileColumns, has);
    if (found == kFileColumns.end()) {
      fail("{}:1: columns {}, expected one of files among them, called {}", table_,
           fmt::join(header, ", "), fmt::join(kFileColumns, ", "));
    }
    return std::string(*found);
  }

  void find_file(FileRecord& record, const std::string& file_column) const {
    Columns& columns = record.columns;
    if (file_column.empty()) {
      CutFile{columns["youtube_id"], seconds(columns["time_start"], "time_start"),
              seconds(columns["time_end"], "time_end")}
          .find(record, files_, format_.times);
      return;
    }
    if (columns[file_column].empty()) fail("no name of a file, expected one");
    if (columns.contains("start")) record.start = seconds(columns["start"], "start");
    if (columns.contains("end")) record.end = seconds(columns["end"], "end");
    if (record.end > 0.0 && record.end <= record.start) {
      fail("end is {}, expected a time after start, {}", record.end, record.start);
    }
    record.path = files_.named(columns[file_column]);
  }

  std::string table_;
  FilesByStem files_;
  TableFormat format_;
};

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::ranges::count(names, name) > 0;
}

void add_classes(const fs::path& folder, const std::string& split, const IsWanted& is_wanted,
                 std::vector<FileRecord>& records) {
  for (const fs::path& inner : sorted_entries(folder)) {
    const std::string name = inner.filename().string();
    if (!fs::is_directory(inner) || name.starts_with('.')) continue;
    for (const fs::path& file : files_below(inner)) {
      if (!is_wanted(file)) continue;
      FileRecord record{.path = file, .columns = {{"label", name}}, .place = file.string()};
      if (!split.empty()) record.columns["split"] = split;
      records.push_back(std::move(record));
    }
  }
}

}  // namespace

bool is_train_split(const std::string& name) { return is_one_of(name, {"train", "training"}); }
bool is_validation_split(const std::string& name) {
  return is_one_of(name, {"val", "valid", "validate", "validation", "dev", "eval"});
}
bool is_test_split(const std::string& name) { return is_one_of(name, {"test", "testing"}); }

NamePattern::NamePattern(const std::string& pattern) {
  std::string text;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') {
      text += pattern[at];
      continue;
    }
    const size_t close = pattern.find('}', at);
    const bool starts_at_once = text.empty() && !columns_.empty();
    if (close == pattern.npos || close == at + 1 || starts_at_once) {
      fail(
          "data.pattern is '{}', expected columns in braces with text between them, such as "
          "{{label}}_{{speaker}}_{{take}}",
          pattern);
    }
    between_.push_back(std::exchange(text, ""));
    columns_.push_back(pattern.substr(at + 1, close - at - 1));
    at = close;
  }
  between_.push_back(text);
  if (columns_.empty()) {
    fail("data.pattern is '{}', expected a column in braces, such as {{label}}_{{take}}", pattern);
  }
}

bool NamePattern::read(const std::string& name, Columns& columns) const {
  if (!name.starts_with(between_[0])) return false;
  size_t at = between_[0].size();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string& behind = between_[i + 1];
    const bool last = i + 1 == columns_.size();
    if (last && !name.ends_with(behind)) return false;
    const size_t end = last ? name.size() - behind.size() : name.find(behind, at);
    if (end == name.npos || end <= at) return false;
    columns[columns_[i]] = name.substr(at, end - at);
    at = end + behind.size();
  }
  return true;
}

std::vector<FileRecord> records_of_table(const fs::path& table, const fs::path& folder,
                                         const TableFormat& format, const IsWanted& is_wanted) {
  return TableReader(table, folder, format, is_wanted).read_all();
}

std::vector<FileRecord> records_of_names(const fs::path& folder, const NamePattern& pattern,
                                         const IsWanted& is_wanted) {
  std::vector<FileRecord> records;
  for (const fs::path& file : files_below(folder)) {
    if (!is_wanted(file)) continue;
    FileRecord record{.path = file, .place = file.string()};
    if (!pattern.read(file.stem().string(), record.columns)) {
      record.error = fmt::format("{}: the name is not as data.pattern says", file.string());
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<FileRecord> records_of_folders(const fs::path& folder, const IsWanted& is_wanted) {
  std::vector<FileRecord> records;
  for (const fs::path& inner : sorted_entries(folder)) {
    const std::string name = inner.filename().string();
    const bool split = is_train_split(name) || is_validation_split(name) || is_test_split(name);
    if (split && fs::is_directory(inner)) add_classes(inner, name, is_wanted, records);
  }
  if (records.empty()) add_classes(folder, "", is_wanted, records);
  return records;
}

}  // namespace perceiver
