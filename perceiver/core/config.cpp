#include "perceiver/core/config.h"

#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "perceiver/core/count.h"
#include "perceiver/core/lines.h"
#include "perceiver/core/names.h"

namespace perceiver {
namespace {

const std::string kCommandLine = "command line";

std::atomic<int64_t> num_parsed = 0;

// "flow.toml:12"
std::string where(const toml::node& node) {
  const toml::source_region& source = node.source();
  if (*source.path == kCommandLine) return kCommandLine;
  return fmt::format("{}:{}", *source.path, source.begin.line);
}

// Each part of a dotted key is a table in a table, and toml++ descends into them without a limit.
constexpr int64_t kMostParts = 16;  // configs have up to 5

// The line of the first key that has more parts, or 0.
int64_t line_of_long_key(std::string_view text) {
  int64_t parts = 1, line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const bool multiline = text.substr(i, 3) == std::string(3, c);
      const std::string_view quotes = text.substr(i, multiline ? 3 : 1);
      for (i += quotes.size(); i < text.size() && text.substr(i, quotes.size()) != quotes; ++i) {
        if (text[i] == '\n' && !multiline) break;  // not closed: the parser says so
        if (text[i] == '\\' && c == '"') ++i;
        line += i < text.size() && text[i] == '\n';
      }
      if (multiline) i += 2;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '.' && ++parts > kMostParts) {
      return line;
    }
    if (i < text.size() && std::string_view("\n=,[]{}").find(text[i]) != std::string_view::npos) {
      parts = 1;
      line += text[i] == '\n';
    }
  }
  return 0;
}

toml::table parse(std::string_view text, const std::string& name) {
  if (const int64_t line = line_of_long_key(text)) {
    const std::string place = name == kCommandLine ? name : fmt::format("{}:{}", name, line);
    fail("{}: key of over {} parts", place, kMostParts);
  }
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    fail("{}:{}: {}", name, e.source().begin.line, e.description());
  }
}

// What `over` says wins; tables are merged key by key.
void merge(toml::table& base, toml::table& over) {
  for (auto&& [key, node] : over) {
    toml::table* into = base[key.str()].as_table();
    if (into != nullptr && node.is_table()) {
      merge(*into, *node.as_table());
    } else {
      // Moved, not copied: a copy forgets where it came from.
      node.visit(
          [&, &key = key](auto& value) { base.insert_or_assign(key.str(), std::move(value)); });
    }
  }
}

toml::table parse_override(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    fail("{}: '{}' is not of the form key=value", kCommandLine, text);
  try {
    if (line_of_long_key(text) == 0) return toml::parse(text, kCommandLine);
  } catch (const toml::parse_error&) {
  }
  // A word without quotes, as a shell leaves it.
  return parse(fmt::format("{} = '{}'", text.substr(0, equals), text.substr(equals + 1)),
               kCommandLine);
}

std::string list_of(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

template <typename T>
void check_limits(T value, Limits limits, const std::string& place) {
  if (value >= limits.low && value <= limits.high) return;
  if (std::isnan(static_cast<double>(value))) fail("{} must be a number, got nan", place);
  if (value < limits.low) fail("{} must be at least {}, got {}", place, limits.low, value);
  fail("{} must be at most {}, got {}", place, limits.high, value);
}

// What is at least one of something is a count, and has an end where the field names none.
Limits limits_of_integer(Limits limits) {
  const bool is_endless_count = limits.low >= 1 && std::isinf(limits.high);
  return is_endless_count ? between(limits.low, kLargestCount) : limits;
}

}  // namespace

struct ConfigReader::State {
  struct Level {
    const toml::table* table;  // null where the file has no such table: the defaults stay
    std::string prefix;
    std::vector<std::string> known;
  };

  // The node of `key`, which is known from now on; null when the file does not have it.
  const toml::node* get(std::string_view key) {
    Level& level = levels.back();
    level.known.emplace_back(key);
    return level.table != nullptr ? level.table->get(key) : nullptr;
  }

  // "flow.toml:12: 'model.encoder.num_latents'"
  std::string place(const toml::node& node, std::string_view key) const {
    return fmt::format("{}: '{}{}'", where(node), levels.back().prefix, key);
  }

  template <typename T>
  T exact(const toml::node& node, std::string_view key, std::string_view expected) const {
    const std::optional<T> value = node.value_exact<T>();
    if (!value) fail("{} must be {}", place(node, key), expected);
    return *value;
  }

  const toml::array& array(const toml::node& node, std::string_view key,
                           std::string_view expected) const {
    if (!node.is_array()) fail("{} must be {}", place(node, key), expected);
    return *node.as_array();
  }

  std::string name;  // of the file
  toml::table root;
  std::vector<Level> levels;
};

ConfigReader::ConfigReader(const File& file, std::span<const std::string> overrides)
    : state_(std::make_unique<State>()) {
  state_->name = file.name;
  state_->root = parse(file.bytes, file.name);
  ++num_parsed;
  for (const std::string& text : overrides) {
    toml::table over = parse_override(text);
    merge(state_->root, over);
  }
  state_->levels.push_back({&state_->root, "", {}});
}

ConfigReader::~ConfigReader() = default;

// 4 as well as 4.0, and integers that no double is, as the nearest.
static double number_in(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  return node.as_floating_point()->get();
}

bool ConfigReader::has(std::string_view key) { return state_->get(key) != nullptr; }

void ConfigReader::operator()(ConfigKey key, int64_t& value, Limits limits) {
  if (const toml::node* node = state_->get(key.name)) {
    value = state_->exact<int64_t>(*node, key.name, "an integer");
    check_limits(value, limits_of_integer(limits), state_->place(*node, key.name));
  }
}

void ConfigReader::operator()(ConfigKey key, double& value, Limits limits) {
  if (const toml::node* node = state_->get(key.name)) {
    if (!node->is_number()) fail("{} must be a number", state_->place(*node, key.name));
    value = number_in(*node);
    check_limits(value, limits, state_->place(*node, key.name));
  }
}

void ConfigReader::operator()(ConfigKey key, bool& value) {
  if (const toml::node* node = state_->get(key.name)) {
    value = state_->exact<bool>(*node, key.name, "true or false");
  }
}

void ConfigReader::operator()(ConfigKey key, std::string& value) {
  if (const toml::node* node = state_->get(key.name)) {
    value = state_->exact<std::string>(*node, key.name, "a string");
  }
}

void ConfigReader::operator()(ConfigKey key, std::vector<int64_t>& value, Limits limits) {
  if (const toml::node* node = state_->get(key.name)) {
    value.clear();
    for (const toml::node& item : state_->array(*node, key.name, "a list of integers")) {
      value.push_back(state_->exact<int64_t>(item, key.name, "a list of integers"));
      check_limits(value.back(), limits_of_integer(limits), state_->place(item, key.name));
    }
  }
}

void ConfigReader::operator()(ConfigKey key, std::vector<double>& value, Limits limits) {
  if (const toml::node* node = state_->get(key.name)) {
    value.clear();
    for (const toml::node& item : state_->array(*node, key.name, "a list of numbers")) {
      if (!item.is_number()) fail("{} must be a list of numbers", state_->place(item, key.name));
      value.push_back(number_in(item));
      check_limits(value.back(), limits, state_->place(item, key.name));
    }
  }
}

void ConfigReader::operator()(ConfigKey key, std::vector<std::string>& value) {
  if (const toml::node* node = state_->get(key.name)) {
    value.clear();
    if (node->is_string()) return value.push_back(node->as_string()->get());
    for (const toml::node& item : state_->array(*node, key.name, "a list of strings")) {
      value.push_back(state_->exact<std::string>(item, key.name, "a list of strings"));
    }
  }
}

size_t ConfigReader::read_word(std::string_view key, std::span<const std::string_view> words,
                               size_t now) {
  const toml::node* node = state_->get(key);
  if (node == nullptr) return now;
  const auto word = state_->exact<std::string>(*node, key, list_of(words));
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    fail("{} must be {}, got \"{}\"", state_->place(*node, key), list_of(words), word);
  }
  return found - words.begin();
}

void ConfigReader::enter(std::string_view key) {
  const toml::node* node = state_->get(key);
  if (node != nullptr && !node->is_table()) fail("{} must be a table", state_->place(*node, key));
  state_->levels.push_back({node != nullptr ? node->as_table() : nullptr,
                            fmt::format("{}{}.", state_->levels.back().prefix, key),
                            {}});
}

std::vector<std::string> ConfigReader::enter_names(std::string_view key) {
  enter(key);
  std::vector<std::string> names;
  if (const toml::table* table = state_->levels.back().table) {
    for (const auto& [name, node] : *table) names.emplace_back(name.str());
  }
  return names;
}

size_t ConfigReader::enter_list(std::string_view key) {
  const toml::node* node = state_->get(key);
  if (node == nullptr) return 0;
  for (const toml::node& item : state_->array(*node, key, "a list of tables")) {
    if (!item.is_table()) fail("{} must be a list of tables", state_->place(item, key));
  }
  return node->as_array()->size();
}

void ConfigReader::enter_element(std::string_view key, size_t index) {
  const toml::array& list = *state_->levels.back().table->get(key)->as_array();
  state_->levels.push_back(
      {list.get(index)->as_table(), fmt::format("{}{}.", state_->levels.back().prefix, key), {}});
}

void ConfigReader::leave() {
  const State::Level& level = state_->levels.back();
  if (level.table != nullptr) {
    for (const auto& [key, node] : *level.table) {
      const std::string name(key.str());
      if (std::find(level.known.begin(), level.known.end(), name) != level.known.end()) continue;
      fail("{}: unknown key '{}{}'{}", where(node), level.prefix, name,
           did_you_mean(name, level.known, level.prefix));
    }
  }
  state_->levels.pop_back();
}

void ConfigReader::finish() { leave(); }

std::string ConfigReader::peek(std::string_view key) const {
  const toml::node* node = state_->root.get(key);
  if (node == nullptr) fail("{}: the key '{}' is missing", state_->name, key);
  return state_->exact<std::string>(*node, key, "a string");
}

void ConfigReader::refuse(std::string_view key, std::string_view why) {
  if (const toml::node* node = state_->get(key)) fail("{}: {}", state_->place(*node, key), why);
}

int64_t num_parsed_configs() { return num_parsed; }

static std::string quoted(const std::string& value) {
  return fmt::format("{}", fmt::streamed(toml::value<std::string>(value)));
}

static std::string float_text(double value) {
  const std::string text = fmt::format("{}", value);
  const bool looks_integral = text.find_first_of(".en") == std::string::npos;
  return looks_integral ? text + ".0" : text;
}

void ConfigWriter::operator()(ConfigKey key, double value, Limits) {
  line(key.name, float_text(value));
}

void ConfigWriter::operator()(ConfigKey key, const std::string& value) {
  line(key.name, quoted(value));
}

void ConfigWriter::operator()(ConfigKey key, const std::vector<int64_t>& value, Limits) {
  line(key.name, fmt::format("[{}]", fmt::join(value, ", ")));
}

void ConfigWriter::operator()(ConfigKey key, const std::vector<double>& value, Limits) {
  std::vector<std::string> numbers;
  for (const double number : value) numbers.push_back(float_text(number));
  list(key.name, numbers);
}

void ConfigWriter::operator()(ConfigKey key, const std::vector<std::string>& value) {
  std::vector<std::string> words;
  for (const std::string& word : value) words.push_back(quoted(word));
  list(key.name, words);
}

void ConfigWriter::list(std::string_view key, const std::vector<std::string>& items) {
  line(key, fmt::format("[{}]", fmt::join(items, ", ")));
}

std::string ConfigWriter::inline_table(const std::string& lines, const std::string& defaults) {
  const std::vector<std::string> known = lines_of(defaults);
  std::vector<std::string> keys = lines_of(lines);
  std::erase_if(keys, [&](const auto& line) { return std::ranges::count(known, line) > 0; });
  return fmt::format("{{{}}}", fmt::join(keys, ", "));
}

std::string ConfigWriter::key_text(const std::string& name) {
  const auto is_bare = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  return !name.empty() && std::ranges::all_of(name, is_bare) ? name : quoted(name);
}

}  // namespace perceiver
