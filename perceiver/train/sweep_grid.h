// The grid of a sweep: settings with alternatives, and every combination of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

struct GridSetting {
  std::string key, value;  // "train.batch", "16": the value as TOML, or a word without quotes

  bool operator==(const GridSetting&) const = default;
};

// The settings that tell a run from the others of its sweep.
using Combination = std::vector<GridSetting>;

struct Grid {
  // For each word with alternatives what each of them sets: several keys where it is a table.
  std::vector<std::vector<Combination>> axes;
  std::vector<std::string> words;      // of these axes, as given
  std::vector<std::string> overrides;  // words with one value, the same for all runs
};

// Of words such as "train.batch=16,32,64" and "train={batch=16,steps=90},{batch=32,steps=45}".
// Fails where an alternative is empty, where a key with alternatives is given twice, and where
// nothing has alternatives.
Grid parse_grid(std::span<const std::string> words);

// Every one of them. The last axis changes first, as the innermost of nested loops.
std::vector<Combination> combinations(const Grid& grid);

// "train.batch=16" and so on, as read_settings() takes them.
std::vector<std::string> as_overrides(const Combination& combination);

// The keys of all of them, in the order in which they first come.
std::vector<std::string> keys_of(std::span<const Combination> all);

// "batch" for "train.batch"; the whole key where two end the same.
std::vector<std::string> short_names(std::span<const std::string> keys);

// A file's name for each that tells what it is, and tells it from all others:
// "batch=16,learning_rate=1e-4".
std::vector<std::string> run_names(std::span<const Combination> all);

}  // namespace perceiver
