// Files of arrays as examples: row by row of the arrays' first axis, over all files.
#pragma once

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/arrays/config.h"
#include "perceiver/tasks/split.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// The words of columns by the columns' names; a word's place is its number.
using ColumnWords = std::map<std::string, std::vector<std::string>>;

// The arrays of one file. They look at the mapped file: what is not touched is not read.
struct ArrayTable {
  std::string name;  // of the file, for messages
  TensorMap arrays;
  std::vector<int64_t> examples = {};  // which of the rows
  ColumnWords words = {};              // of the arrays that are numbers of words
  // Of a table in windows: the rows of one, and where the rows of each group end.
  int64_t window = 0;
  std::vector<int64_t> group_ends = {};

  const Tensor& array(const std::string& wanted) const;  // fails where there is none
};

// Arrays that lie in memory, each row an example. Those `needed` must be there, of as many rows.
ArrayTable table_of(std::string name, TensorMap arrays, const std::vector<std::string>& needed);

bool is_csv(const std::string& path);

// Columns of texts of which so many bytes are taken.
using ColumnBytes = std::map<std::string, int64_t>;

// The needed columns of .csv and .tsv files. A column with anything but numbers in any of them has
// words, and so has one whose words are `known`: these keep their numbers, others have none, -1.
// An empty field, NA, NaN, null and ? are missing: NaN, or -1, as is what lies behind a text's end.
std::vector<ArrayTable> read_csv_tables(const std::vector<std::string>& paths,
                                        const std::vector<std::string>& needed,
                                        const ColumnWords& known, const TableWindow& window,
                                        const ColumnBytes& bytes = {});

class ArrayTables {
 public:
  explicit ArrayTables(std::vector<ArrayTable> tables);

  // Without what is held out, or that alone: a share of the rows, or of each group the last ones.
  void keep(double held_out_share, bool held_out);

  int64_t size() const { return size_; }
  const std::vector<ArrayTable>& tables() const { return tables_; }

  struct Place {
    const ArrayTable& table;
    int64_t row;
  };
  Place at(int64_t example) const;

 private:
  void count();

  std::vector<ArrayTable> tables_;
  int64_t size_ = 0;
};

// The arrays that a config names: of all inputs; of what a query asks by; of both, and of the right
// answers or not. And the words it has.
std::vector<std::string> input_arrays(const ArraysConfig& config);
std::vector<std::string> asking_arrays(const ArraysConfig& config, const std::string& query);
std::vector<std::string> needed_arrays(const ArraysConfig& config, bool targets);
ColumnWords known_words(const ArraysConfig& config);

// Rows of a table that make an example of a model that is run: as many as its inputs see.
TableWindow window_of(const ArraysConfig& config);

// All rows of files, which have the arrays `needed`.
ArrayTables read_tables(const std::vector<std::string>& paths,
                        const std::vector<std::string>& needed, const ArraysConfig& config,
                        const TableWindow& window);

// The examples of a split; none where nothing is held out.
std::optional<ArrayTables> tables_of(const ArraysConfig& config, const ArraysDataConfig& data,
                                     Split split);

}  // namespace perceiver
