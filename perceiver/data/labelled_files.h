// Files with classes, to train and to measure on: folders of classes, names that say the class, and
// the tables that data sets come with.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/config.h"
#include "perceiver/data/file_records.h"

namespace perceiver {

struct LabelledFilesConfig {
  std::vector<std::string> train = {};
  std::vector<std::string> held_out = {};
  std::string table = "";
  std::string pattern = "";
  std::string label = "";
  std::string separator = "";
  bool whole_videos = false;
  std::string rows = "";
  std::string held_out_rows = "";
  int64_t held_out_per_class = 0;
};

template <typename Visitor>
void fields(Visitor& visit, LabelledFilesConfig& c) {
  visit(
      {"train",
       "Folders to train on, with a table, with a folder for each class (or train/CLASS), or with "
       "names that data.pattern reads; or tables (.csv) beside their files"},
      c.train);
  visit({"held_out",
         "Folders or tables to measure on, likewise; empty: what the rules below, or a column or "
         "folders of splits, hold out of train"},
        c.held_out);
  visit({"table",
         "A .csv with a row for each file: Kinetics', AudioSet's, or with columns of files and "
         "labels; empty: the only one in the folder"},
        c.table);
  visit({"pattern",
         "Columns in the names of files where there is no table, such as {label}_{speaker}_{take}"},
        c.pattern);
  visit({"label",
         "The column of classes; empty: label, labels, category, class or target; *: each column "
         "but those of files, split, fold, start and end is a class, with 1 for the files that "
         "have it, else 0"},
        c.label);
  visit(
      {"separator",
       "What separates several classes of one file; empty: a comma, ';' or '|' in a column called "
       "labels, nothing in others"},
      c.separator);
  visit({"whole_videos",
         "Kinetics' and AudioSet's tables: whether files are whole videos, of which a row's times "
         "are a part"},
        c.whole_videos);
  visit({"rows", "The rows that are used, such as esc10=True; empty: all"}, c.rows);
  visit({"held_out_rows",
         "The rows that are measured on and not trained on, such as fold=4,5; empty: by a column "
         "'split', where there is one"},
        c.held_out_rows);
  visit({"held_out_per_class",
         "Else: files of each class, spread evenly over their names, that are measured on and not "
         "trained on"},
        c.held_out_per_class, at_least(0));
}

struct LabelledRow {
  std::filesystem::path path = {};
  std::vector<std::string> labels = {};  // as they are written
  double start = 0.0, end = 0.0;         // seconds of the file; end 0: to its end
  std::string place = {};                // "labels.csv:12", or the file: for messages
  std::string error = {};                // why it cannot be used, with the place
};

enum class DataPart { kTrain, kHeldOut };

// The examples of a part; none where nothing is held out. A row that names no file, or has no
// label, is kept with its error, so that train.unreadable decides what becomes of it; where every
// row is like that, it is an Error.
std::vector<LabelledRow> labelled_rows(const LabelledFilesConfig& config, DataPart part,
                                       const IsWanted& is_wanted);

// The labels of the rows that can be used, in the order of their names. Where the model has names:
// those, and another label is an Error that lists both.
std::vector<std::string> class_names(const std::vector<LabelledRow>& rows,
                                     const std::vector<std::string>& model_names = {});

// The numbers of rows' labels: their places among `names`.
class ClassNumbers {
 public:
  explicit ClassNumbers(std::vector<std::string> names);

  std::vector<int64_t> of(const LabelledRow& row) const;  // fails for a label that is none of them

 private:
  std::vector<std::string> names_;
  std::map<std::string, int64_t> numbers_;
};

}  // namespace perceiver
