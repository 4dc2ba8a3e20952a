#include "perceiver/tasks/arrays/data_report.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "perceiver/core/text.h"
#include "perceiver/data/delimited.h"
#include "perceiver/tasks/arrays/table.h"
#include "perceiver/weights/arrays.h"

namespace perceiver {
namespace {

// Ranges are of so many numbers of an array, the first ones.
constexpr int64_t kMostValues = 1 << 24;
constexpr size_t kMostWords = 6;

std::vector<std::string> column_names(const std::string& path) {
  const bool tabs = path.ends_with(".tsv");
  DelimitedReader reader(path, {.separator = tabs ? '\t' : ',', .quotes = !tabs});
  std::vector<std::string> names;
  for (const std::string& name : reader.next().value_or(std::vector<std::string>())) {
    const size_t begin = name.find_first_not_of(" \t");
    if (begin == name.npos) continue;
    names.push_back(name.substr(begin, name.find_last_not_of(" \t") + 1 - begin));
  }
  return names;
}

std::string words_text(const std::vector<std::string>& words) {
  std::vector<std::string> first = words;
  if (first.size() > kMostWords) first.resize(kMostWords);
  return fmt::format("{} words: {}{}", words.size(), fmt::join(first, ", "),
                     words.size() > kMostWords ? ", …" : "");
}

std::string range_text(const Tensor& array) {
  if (array.numel() == 0) return "";
  const Tensor first = array.flatten().narrow(0, 0, std::min(array.numel(), kMostValues));
  const Tensor known = first.masked_select(first.isnan().logical_not()).to(at::kDouble);
  if (known.numel() == 0) return "nothing but NaN";
  return fmt::format("{:.5g} to {:.5g}{}", known.min().item<double>(), known.max().item<double>(),
                     array.numel() > kMostValues ? " at first" : "");
}

int64_t num_missing(const Tensor& array, bool words) {
  const Tensor first = array.flatten().narrow(0, 0, std::min(array.numel(), kMostValues));
  return (words ? first.lt(0) : first.isnan()).sum().item<int64_t>();
}

std::string dtype_text(const Tensor& array) {
  std::string text = c10::toString(array.scalar_type());
  for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
  return text;
}

}  // namespace

bool is_data_file(const std::string& path) {
  return is_csv(path) || path.ends_with(".npz") || path.ends_with(".npy");
}

std::string data_report(const std::string& path) {
  TensorMap arrays;
  ColumnWords words;
  if (is_csv(path)) {
    const ArrayTable read = read_csv_tables({path}, column_names(path), {}, {})[0];
    arrays = read.arrays, words = read.words;
  } else {
    arrays = read_arrays(path);
  }
  std::vector<std::vector<std::string>> rows = {{"array", "shape", "of", "holds", "missing"}};
  for (const auto& [name, array] : arrays) {
    const bool is_words = words.contains(name);
    rows.push_back({name, to_string(array.sizes()), is_words ? "words" : dtype_text(array),
                    array.is_complex() ? "complex numbers"
                    : is_words         ? words_text(words.at(name))
                                       : range_text(array),
                    std::to_string(array.is_complex() ? 0 : num_missing(array, is_words))});
  }
  return table(rows);
}

}  // namespace perceiver
