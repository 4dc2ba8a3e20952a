// Files with what is known of each, by column: from a table beside them, from their names, or from
// the folders that they lie in.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace perceiver {

// Whether a file can be an example, by the ending of its name.
using IsWanted = std::function<bool(const std::filesystem::path& file)>;

struct FileRecord {
  std::filesystem::path path = {};
  std::map<std::string, std::string> columns = {};
  std::vector<std::string> classes = {};  // TableFormat::classes_are_columns: those with a 1
  double start = 0.0, end = 0.0;          // seconds of the file; end 0: to its end
  std::string place = {};                 // "labels.csv:12", or the file: where it is read from
  std::string error = {};  // why there is no such file: "labels.csv:12: got, expected"
};

// "{label}_{speaker}_{take}": the columns that files' names have, without the ending. The text
// between two columns ends the first; the last takes the rest.
class NamePattern {
 public:
  explicit NamePattern(const std::string& pattern);  // fails where it is none

  // False where the name is not of this kind.
  bool read(const std::string& name, std::map<std::string, std::string>& columns) const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::string> between_;  // before, between and behind the columns: one more than these
};

// How the rows of Kinetics' and AudioSet's tables, which have times, are meant: files hold what was
// cut out by these times, or whole videos.
enum class TimesOf { kCutFiles, kWholeVideos };

struct TableFormat {
  TimesOf times = TimesOf::kCutFiles;
  // Whether each column but those of files, split, fold, start and end is a class, with 0 or 1.
  bool classes_are_columns = false;
};

// A row for each line of `table`, whose files lie in or below `folder`:
// - Kinetics': label, youtube_id, time_start, time_end, split; files are called ID_000010_000020 or
//   ID.
// - AudioSet's: comment lines, then YTID, start, end, "label,label"; ID, YID, ID_30 or ID_30000 or
//   ID_30.000 and the like.
// - any other with a first line of names and a column of files (file, filename, path, clip, video
//   or audio), in which folder and ending may be left out; "start" and "end" are in seconds.
std::vector<FileRecord> records_of_table(const std::filesystem::path& table,
                                         const std::filesystem::path& folder,
                                         const TableFormat& format, const IsWanted& is_wanted);

// The wanted files in and below `folder`, with the columns that their names have.
std::vector<FileRecord> records_of_names(const std::filesystem::path& folder,
                                         const NamePattern& pattern, const IsWanted& is_wanted);

// CLASS/FILES or SPLIT/CLASS/FILES as the columns label and split.
std::vector<FileRecord> records_of_folders(const std::filesystem::path& folder,
                                           const IsWanted& is_wanted);

// Names of splits, as folders and tables have them.
bool is_train_split(const std::string& name);
bool is_validation_split(const std::string& name);
bool is_test_split(const std::string& name);

}  // namespace perceiver
