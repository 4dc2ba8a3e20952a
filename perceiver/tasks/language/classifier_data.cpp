#include "perceiver/tasks/language/classifier_data.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/number.h"
#include "perceiver/data/rows.h"
#include "perceiver/modalities/text_pair.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

fs::path first_of(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const char* ending : {".csv", ".tsv", ".jsonl"}) {
      const fs::path path = folder / (std::string(name) + ending);
      if (fs::exists(path)) return path;
    }
  }
  return {};
}

void check_there(const std::string& path) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path);
}

std::vector<fs::path> train_files(const TextClassifierDataConfig& config,
                                  const char* key = "train") {
  if (config.train.empty()) {
    fail("data.{} names no files; give .csv, .tsv or .jsonl files, or folders, with --data", key);
  }
  std::vector<fs::path> files;
  for (const std::string& path : config.train) {
    check_there(path);
    files.push_back(fs::is_directory(path) ? first_of(path, {"train"}) : fs::path(path));
    if (files.back().empty()) {
      fail("{}: there is no train.csv, train.tsv or train.jsonl in this folder", path);
    }
  }
  return files;
}

// Those of data.held_out, else what lies beside the training files; a file of the name test is
// measured on where it is asked for, and chooses no model.
std::vector<fs::path> held_out_files(const TextClassifierDataConfig& config) {
  std::vector<fs::path> files;
  for (const std::string& path : config.held_out) {
    check_there(path);
    const bool folder = fs::is_directory(path);
    files.push_back(folder ? first_of(path, {"dev", "val", "validation", "test"}) : fs::path(path));
    if (files.back().empty()) {
      fail("{}: there is no dev, val or test in this folder, as .csv, .tsv or .jsonl", path);
    }
  }
  if (!files.empty()) return files;
  for (const std::string& path : config.train) {
    if (!fs::is_directory(path)) continue;
    const fs::path beside = first_of(path, {"dev", "val", "validation"});
    if (!beside.empty()) files.push_back(beside);
  }
  return files;
}

std::vector<LabelledText> texts_of(const std::vector<fs::path>& files, const TextColumns& columns,
                                   Unreadable unreadable) {
  std::vector<LabelledText> all;
  for (const fs::path& file : files) {
    std::ranges::move(read_labelled_texts(file, columns, unreadable), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string> sorted_names(const std::set<std::string>& labels) {
  std::vector<std::string> names(labels.begin(), labels.end());
  if (std::ranges::all_of(
          names, [](const std::string& name) { return number_in<double>(name).has_value(); })) {
    std::ranges::stable_sort(names, {},
                             [](const std::string& name) { return *number_in<double>(name); });
  }
  return names;
}

// "bad, fine, good"; of many the first few.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  const std::span<const std::string> shown = std::span(names).first(std::min(kMost, names.size()));
  const std::string list = fmt::format("{}", fmt::join(shown, ", "));
  return names.size() <= kMost ? list : fmt::format("{}, {} more", list, names.size() - kMost);
}

}  // namespace

std::vector<LabelledText> labelled_split(const TextClassifierDataConfig& config, Split split,
                                         Unreadable unreadable) {
  const bool held_out = split == Split::kEval;
  const std::vector<fs::path> own = held_out_files(config);
  if (held_out && !own.empty()) return texts_of(own, config.columns, unreadable);
  const std::vector<fs::path> files = train_files(config, held_out ? "held_out" : "train");
  if (held_out && config.held_out_share == 0.0) return {};
  std::vector<LabelledText> texts = texts_of(files, config.columns, unreadable);
  if (!own.empty()) return texts;
  const size_t all = texts.size();
  texts = part_of(std::move(texts), config.held_out_share, held_out);
  if (texts.empty()) {
    fail("{}: data.held_out_share ({}) of {} texts leaves none to {}", files[0].string(),
         config.held_out_share, all, held_out ? "measure" : "train on");
  }
  return texts;
}

std::vector<std::string> text_classes(const TextClassifierDataConfig& config, int64_t num_classes,
                                      const std::vector<std::string>& known,
                                      Unreadable unreadable) {
  if (!known.empty()) return known;
  const std::vector<fs::path> files =
      config.train.empty() ? held_out_files(config) : train_files(config);
  std::set<std::string> labels;
  for (const LabelledText& text : texts_of(files, config.columns, unreadable)) {
    if (text.error.empty()) labels.insert(text.label);
  }
  const std::vector<std::string> names = sorted_names(labels);
  if (std::ssize(names) != num_classes) {
    const std::string fit =
        config.train.empty() ? "" : fmt::format("; set model.num_classes={}", names.size());
    fail("{}: has {} class{} ({}), the model has {} (model.num_classes){}", files[0].string(),
         names.size(), names.size() == 1 ? "" : "es", some_of(names), num_classes, fit);
  }
  return names;
}

LabelledTextDataset::LabelledTextDataset(std::vector<LabelledText> texts,
                                         const std::vector<std::string>& classes,
                                         const MaskingTokenizer& tokenizer, int64_t max_length,
                                         Unreadable unreadable)
    : tokenizer_(tokenizer), texts_(std::move(texts)), max_length_(max_length) {
  if (max_length < 4) {
    fail("model.num_inputs ({}) must leave room for a text between [CLS] and [SEP]", max_length);
  }
  std::map<std::string, int64_t> numbers;
  for (size_t i = 0; i < classes.size(); ++i) numbers.emplace(classes[i], i);
  for (LabelledText& text : texts_) {
    const auto found = numbers.find(text.label);
    labels_.push_back(found == numbers.end() ? 0 : found->second);
    if (found != numbers.end() || !text.error.empty()) continue;
    text.error = fmt::format("{}:{}: label '{}', expected one of {}", *text.file, text.line,
                             text.label, some_of(classes));
    if (unreadable == Unreadable::kStop) throw Error(text.error);
  }
}

Example LabelledTextDataset::get(int64_t index, Rng&) const {
  const LabelledText& text = texts_[index];
  if (!text.error.empty()) throw Error(text.error);
  const SpecialIds special = tokenizer_.special();
  const Ids ids = pair_ids(tokenizer_.encode(text.text), tokenizer_.encode(text.pair), special.sep,
                           max_length_ - 2);
  return {{"ids", at::tensor(wrap(special, ids), at::kLong)},
          {"label", at::scalar_tensor(labels_[index], at::kLong)}};
}

Example LabelledTextDataset::batch(const std::vector<Example>& examples, Rng&) const {
  std::vector<Tensor> texts, labels;
  for (const Example& example : examples) {
    texts.push_back(example.at("ids"));
    labels.push_back(example.at("label"));
  }
  const TokenBatch padded = pad_together(texts, max_length_, tokenizer_.special().pad);
  return {{"ids", padded.ids}, {"mask", padded.mask}, {"label", at::stack(labels)}};
}

}  // namespace perceiver
