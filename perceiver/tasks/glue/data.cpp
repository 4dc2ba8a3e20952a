#include "perceiver/tasks/glue/data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "perceiver/core/error.h"
#include "perceiver/data/rows.h"
#include "perceiver/modalities/text_pair.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

fs::path root_of(const GlueDataConfig& config, bool held_out) {
  const auto& own = held_out && !config.held_out.empty() ? config.held_out : config.train;
  if (own.empty()) {
    fail("data.{} names no folder; give GLUE's with --data", held_out ? "held_out" : "train");
  }
  if (own.size() > 1) fail("data.train: expected one folder, GLUE's, got {}", own.size());
  return own[0];
}

int64_t size_of(const GlueSplit& split) {
  return std::ssize(split.rows) + std::ssize(split.second);
}

// How many of an epoch's `all` examples are of each task.
std::vector<int64_t> shares(const std::vector<int64_t>& sizes, GlueSampling sampling) {
  if (sampling == GlueSampling::kProportional) return sizes;
  std::vector<double> weights;
  for (const int64_t size : sizes) {
    weights.push_back(sampling == GlueSampling::kEqual ? 1.0
                                                       : std::sqrt(static_cast<double>(size)));
  }
  const double all = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> counts;
  for (const double weight : weights) {
    counts.push_back(std::max<int64_t>(1, std::llround(all * weight / sum)));
  }
  return counts;
}

}  // namespace

GlueSplit glue_split(const GlueDataConfig& config, const GlueBenchmark& benchmark, Split split,
                     Unreadable unreadable) {
  const fs::path root = root_of(config, split == Split::kEval);
  const GlueFiles measured = find_glue_files(root_of(config, true), benchmark);
  const auto read = [&](const fs::path& path) {
    return read_glue_rows(path, benchmark, unreadable);
  };
  const bool has_dev = !measured.dev.empty();
  if (split == Split::kEval && has_dev) {
    GlueSplit rows{read(measured.dev), {}};
    if (!measured.dev_mismatched.empty()) rows.second = read(measured.dev_mismatched);
    return rows;
  }
  const fs::path train = find_glue_files(root, benchmark).train;
  if (train.empty()) fail("{}: the task {} has no training file", root.string(), benchmark.name);
  std::vector<GlueRow> rows = read(train);
  if (has_dev) return {std::move(rows), {}};
  const size_t all = rows.size();
  rows = part_of(std::move(rows), config.held_out_share, split == Split::kEval);
  if (rows.empty()) {
    fail("{}: data.held_out_share ({}) of {} examples leaves none to {}", train.string(),
         config.held_out_share, all, split == Split::kEval ? "measure" : "train on");
  }
  return {std::move(rows), {}};
}

GlueDataset::GlueDataset(std::vector<GlueSplit> splits, const MaskingTokenizer& tokenizer,
                         int64_t max_length, GlueSampling sampling)
    : tokenizer_(tokenizer),
      splits_(std::move(splits)),
      max_length_(max_length),
      every_row_once_(sampling == GlueSampling::kProportional) {
  std::vector<int64_t> sizes;
  for (const GlueSplit& split : splits_) sizes.push_back(size_of(split));
  const std::vector<int64_t> counts = shares(sizes, sampling);
  ends_.resize(counts.size());
  std::partial_sum(counts.begin(), counts.end(), ends_.begin());
}

Example GlueDataset::get(int64_t index, Rng& rng) const {
  const auto task = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
  const GlueSplit& split = splits_[task];
  const int64_t row_index =
      every_row_once_ ? index - (task > 0 ? ends_[task - 1] : 0) : rng.integer(size_of(split));
  const int64_t first = std::ssize(split.rows);
  const bool second = row_index >= first;
  const GlueRow& row = second ? split.second[row_index - first] : split.rows[row_index];
  if (!row.error.empty()) throw Error(row.error);
  const SpecialIds special = tokenizer_.special();
  const Ids ids = pair_ids(tokenizer_.encode(row.text_a), tokenizer_.encode(row.text_b),
                           special.sep, max_length_);
  return {{"ids", at::tensor(ids, at::kLong)},
          {"task", at::scalar_tensor(task, at::kLong)},
          {"target", at::scalar_tensor(row.label, at::kFloat)},
          {"second", at::scalar_tensor(second, at::kBool)}};
}

Example GlueDataset::batch(const std::vector<Example>& examples, Rng&) const {
  std::vector<Tensor> texts;
  std::vector<Example> rest;
  for (Example example : examples) {
    texts.push_back(example.at("ids"));
    example.erase("ids");
    rest.push_back(std::move(example));
  }
  const TokenBatch padded = pad_together(texts, max_length_, tokenizer_.special().pad);
  Example batch = stack(rest);
  batch["ids"] = padded.ids;
  batch["mask"] = padded.mask;
  return batch;
}

}  // namespace perceiver
