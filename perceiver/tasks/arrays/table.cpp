#include "perceiver/tasks/arrays/table.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "perceiver/core/names.h"
#include "perceiver/data/rows.h"
#include "perceiver/tasks/arrays/layout.h"
#include "perceiver/weights/arrays.h"

namespace perceiver {
namespace {

// All arrays begin with the axis of examples.
int64_t num_rows(const ArrayTable& table, const std::vector<std::string>& needed) {
  int64_t rows = -1;
  std::string first;
  for (const std::string& name : needed) {
    const Tensor& array = table.array(name);
    if (array.dim() == 0)
      fail("{}: array '{}' is one number, expected one of examples", table.name, name);
    if (array.is_complex()) fail("{}: array '{}' is of complex numbers", table.name, name);
    if (rows >= 0 && array.size(0) != rows) {
      fail("{}: array '{}' has {} examples, '{}' has {}", table.name, first, rows, name,
           array.size(0));
    }
    rows = array.size(0);
    if (first.empty()) first = name;
  }
  if (rows <= 0) fail("{}: has no examples", table.name);
  return rows;
}

void add_sources(const std::vector<ArrayField>& parts, std::set<std::string>& names) {
  for (const ArrayField& field : parts) {
    if (!field.has_source()) continue;
    const std::string array = read_source(field.source(), "").array;
    if (!array.empty()) names.insert(array);
  }
}

}  // namespace

const Tensor& ArrayTable::array(const std::string& wanted) const {
  const auto found = arrays.find(wanted);
  if (found != arrays.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [one, tensor] : arrays) known.push_back(one);
  fail("{}: has no array '{}'{}; there are {}", name, wanted, did_you_mean(wanted, known),
       fmt::join(known, ", "));
}

ArrayTable table_of(std::string name, TensorMap arrays, const std::vector<std::string>& needed) {
  ArrayTable table{.name = std::move(name), .arrays = std::move(arrays)};
  table.examples.resize(num_rows(table, needed));
  std::iota(table.examples.begin(), table.examples.end(), 0);
  return table;
}

ArrayTables::ArrayTables(std::vector<ArrayTable> tables) : tables_(std::move(tables)) { count(); }

void ArrayTables::count() {
  size_ = 0;
  for (const ArrayTable& table : tables_) size_ += std::ssize(table.examples);
}

// Windows of a group that lie whole before its border, or whole behind it: none knows of both.
static void keep_windows(ArrayTable& table, double share, bool held_out) {
  std::erase_if(table.examples, [&](int64_t start) {
    const auto end = std::ranges::upper_bound(table.group_ends, start);
    const int64_t begin = end == table.group_ends.begin() ? 0 : *std::prev(end);
    const auto kept = static_cast<int64_t>(static_cast<double>(*end - begin) * (1.0 - share));
    return held_out ? start < begin + kept : start + table.window > begin + kept;
  });
}

void ArrayTables::keep(double share, bool held_out) {
  for (ArrayTable& table : tables_) {
    if (table.window > 0) {
      keep_windows(table, share, held_out);
    } else {
      table.examples = part_of(std::move(table.examples), share, held_out);
    }
  }
  count();
}

ArrayTables::Place ArrayTables::at(int64_t example) const {
  for (const ArrayTable& table : tables_) {
    const int64_t count = std::ssize(table.examples);
    if (example < count) return {table, table.examples[example]};
    example -= count;
  }
  TORCH_INTERNAL_ASSERT(false);
}

std::vector<std::string> input_arrays(const ArraysConfig& config) {
  std::set<std::string> names;
  for (const auto& [name, input] : config.inputs) {
    for (const std::string& array : arrays_of(name, input)) names.insert(array);
    add_sources(input.parts, names);
    if (!input.mask.empty()) names.insert(input.mask);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> asking_arrays(const ArraysConfig& config, const std::string& query) {
  const ArrayQuery& asked = config.queries.at(query);
  std::set<std::string> names;
  if (!asked.at.empty()) names.insert(asked.at);
  add_sources(asked.parts, names);
  return {names.begin(), names.end()};
}

std::vector<std::string> needed_arrays(const ArraysConfig& config, bool targets) {
  std::set<std::string> names;
  const auto add = [&](const std::vector<std::string>& some) {
    names.insert(some.begin(), some.end());
  };
  add(input_arrays(config));
  for (const auto& [name, query] : config.queries) {
    add(asking_arrays(config, name));
    if (targets) add(targets_of(name, query, config));
  }
  return {names.begin(), names.end()};
}

ColumnWords known_words(const ArraysConfig& config) {
  ColumnWords words;
  const auto add = [&](const std::vector<ArrayField>& parts, const std::vector<std::string>& own) {
    for (const ArrayField& field : parts) {
      if (field.words.empty() || field.category.empty()) continue;
      const std::string array = read_source(field.category, "").array;
      words[array.empty() ? own[0] : array] = field.words;
    }
  };
  for (const auto& [name, input] : config.inputs) add(input.parts, arrays_of(name, input));
  for (const auto& [name, query] : config.queries) {
    if (!query.at.empty()) add(query.parts, {query.at});
    if (!query.like.empty()) {
      add(query.parts, arrays_of(query.like, config.inputs.at(query.like)));
    }
    if (!query.names.empty()) words[targets_of(name, query, config)[0]] = query.names;
  }
  return words;
}

TableWindow window_of(const ArraysConfig& config) {
  int64_t rows = 0;
  for (const auto& [name, input] : config.inputs) {
    if (axes_of(name, input).index.empty()) continue;
    rows = std::max(rows, input.rows.empty() ? input.shape[0] : input.rows[1]);
  }
  return {.rows = rows};
}

ArrayTables read_tables(const std::vector<std::string>& paths,
                        const std::vector<std::string>& needed, const ArraysConfig& config,
                        const TableWindow& window) {
  std::vector<std::string> csv;
  std::vector<ArrayTable> tables;
  for (const std::string& path : paths) {
    if (is_csv(path)) {
      csv.push_back(path);
    } else {
      tables.push_back(table_of(path, read_arrays(path), needed));
    }
  }
  if (csv.empty()) return ArrayTables(std::move(tables));
  if (!tables.empty()) {
    fail("{} and {}: expected tables alone, or files of arrays alone", csv[0], tables[0].name);
  }
  ColumnBytes bytes;
  for (const auto& [name, input] : config.inputs) {
    if (input.bytes > 0) bytes[arrays_of(name, input)[0]] = input.bytes;
  }
  return ArrayTables(read_csv_tables(csv, needed, known_words(config), window, bytes));
}

std::optional<ArrayTables> tables_of(const ArraysConfig& config, const ArraysDataConfig& data,
                                     Split split) {
  const bool measured = split == Split::kEval, shared = data.held_out.empty();
  const auto& paths = measured && !shared ? data.held_out : data.train;
  if (measured && shared && (paths.empty() || data.held_out_share == 0.0)) return {};
  if (paths.empty()) {
    fail(
        "data.train names no files; give .npz, .safetensors, .npy or .csv files, or folders of "
        ".npy, with --data");
  }
  ArrayTables tables =
      read_tables(paths, needed_arrays(config, /*targets=*/true), config, data.window);
  if (!shared) return tables;
  const int64_t all = tables.size();
  tables.keep(data.held_out_share, measured);
  if (tables.size() > 0) return tables;
  if (measured) return {};
  fail("{}: {} examples, of which data.held_out_share ({}) leaves none to train on", paths[0], all,
       data.held_out_share);
}

}  // namespace perceiver
