#include "perceiver/train/sweep_grid.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "perceiver/core/alternatives.h"
#include "perceiver/core/crc32c.h"
#include "perceiver/core/error.h"

namespace perceiver {
namespace {

constexpr size_t kMostRuns = 10'000;
constexpr size_t kLongestName = 200;  // with ".log" and the like it must fit 255 bytes

// What "key=value" sets: the settings of an inline table one by one.
Combination settings_of(const std::string& key, const std::string& value) {
  if (!value.starts_with('{') || !value.ends_with('}')) return {{key, value}};
  Combination settings;
  for (const std::string& one : alternatives_of(value.substr(1, value.size() - 2))) {
    const size_t equals = one.find('=');
    if (equals == one.npos) return {{key, value}};  // no table; whoever reads it will say so
    const Combination inner =
        settings_of(key + "." + trimmed(one.substr(0, equals)), trimmed(one.substr(equals + 1)));
    settings.insert(settings.end(), inner.begin(), inner.end());
  }
  return settings;
}

void check_given_once(const Grid& grid) {
  std::set<std::string> known;
  for (const std::string& word : grid.overrides) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    for (const GridSetting& one : settings_of(trimmed(word.substr(0, equals)), trimmed(value))) {
      known.insert(one.key);
    }
  }
  for (const std::vector<Combination>& axis : grid.axes) {
    for (const std::string& key : keys_of(axis)) {
      if (known.insert(key).second) continue;
      fail("command line: '{}' is given twice, expected all its values in one word", key);
    }
  }
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
}

// "cola+rte" for ["cola", "rte"]; two values may come to the same.
std::string readable(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (std::string_view("\"'[]{} ").find(c) != std::string_view::npos) continue;
    text += is_plain(c) || c == '+' ? c : c == ',' ? '+' : '_';
  }
  return text;
}

// No two values come to the same.
std::string exact(const std::string& value) {
  std::string text;
  for (const char c : value) {
    text += is_plain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

// What each value of a key is called.
std::map<std::string, std::string> value_names(const std::set<std::string>& values) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (const std::string& value : values) taken.insert(names[value] = readable(value));
  const bool distinct = taken.size() == values.size() && !taken.contains("");
  if (distinct) return names;
  for (auto& [value, name] : names) name = exact(value);
  return names;
}

}  // namespace

Grid parse_grid(std::span<const std::string> words) {
  Grid grid;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::vector<std::string> values =
        alternatives_of(equals == word.npos ? "" : std::string_view(word).substr(equals + 1));
    if (values.size() == 1) {
      grid.overrides.push_back(word);
      continue;
    }
    std::vector<Combination> axis;
    for (const std::string& value : values) {
      if (value.empty()) {
        fail("command line: '{}' has an empty alternative, expected a value around each comma",
             word);
      }
      Combination alternative = settings_of(trimmed(word.substr(0, equals)), value);
      if (std::ranges::find(axis, alternative) != axis.end()) {
        fail("command line: '{}' has the alternative {} twice", word, value);
      }
      axis.push_back(std::move(alternative));
    }
    grid.axes.push_back(std::move(axis));
    grid.words.push_back(word);
  }
  check_given_once(grid);
  if (grid.axes.empty()) {
    fail(
        "command line: no setting has alternatives, expected some such as train.batch=16,32; for "
        "one run there is 'perceiver train'");
  }
  return grid;
}

std::vector<Combination> combinations(const Grid& grid) {
  std::vector<Combination> all = {{}};
  for (const std::vector<Combination>& axis : grid.axes) {
    std::vector<Combination> longer;
    if (all.size() > kMostRuns / axis.size()) {
      fail("command line: the grid has more than {} combinations", kMostRuns);
    }
    for (const Combination& before : all) {
      for (const Combination& alternative : axis) {
        longer.push_back(before);
        longer.back().insert(longer.back().end(), alternative.begin(), alternative.end());
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<std::string> as_overrides(const Combination& combination) {
  std::vector<std::string> words;
  for (const auto& [key, value] : combination) words.push_back(key + "=" + value);
  return words;
}

std::vector<std::string> keys_of(std::span<const Combination> all) {
  std::vector<std::string> keys;
  for (const Combination& combination : all) {
    for (const GridSetting& one : combination) {
      if (std::ranges::find(keys, one.key) == keys.end()) keys.push_back(one.key);
    }
  }
  return keys;
}

std::vector<std::string> short_names(std::span<const std::string> keys) {
  const auto last_part = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  std::map<std::string, int> times;
  for (const std::string& key : keys) ++times[last_part(key)];
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    names.push_back(times[last_part(key)] == 1 ? last_part(key) : key);
  }
  return names;
}

std::vector<std::string> run_names(std::span<const Combination> all) {
  const std::vector<std::string> keys = keys_of(all), shorter = short_names(keys);
  std::map<std::string, std::string> key_names;
  for (size_t i = 0; i < keys.size(); ++i) key_names[keys[i]] = exact(shorter[i]);
  std::map<std::string, std::set<std::string>> values;
  for (const Combination& combination : all) {
    for (const auto& [key, value] : combination) values[key].insert(value);
  }
  std::map<std::string, std::map<std::string, std::string>> named;
  for (const auto& [key, of_key] : values) named[key] = value_names(of_key);
  std::vector<std::string> names;
  for (const Combination& combination : all) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : combination) {
      parts.push_back(key_names.at(key) + "=" + named.at(key).at(value));
    }
    std::string name = fmt::format("{}", fmt::join(parts, ","));
    // Another run's name and ".log" is that run's log.
    if (name.size() > kLongestName || name.ends_with(".log")) {
      name = fmt::format("{}~{:08x}", name.substr(0, kLongestName), crc32c(name));
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace perceiver
