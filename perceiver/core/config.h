// Reads a TOML file into a plain struct, and writes the struct back.
//
// A config struct names its fields once, in a function fields(visit, config) beside it:
//
//   visit({"num_latents", "Rows of the latent array"}, c.num_latents, at_least(1));
//
// The second text is what the key means to those who write it (`perceiver train CONFIG --keys`).
// Defaults live in the struct. A key the struct does not name is an error, so a typo never trains.
// An enum field has its words in a function enum_words() beside the enum, in the enum's order.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "perceiver/core/config_key.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {

// What a number must lie between, both ends allowed.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
constexpr Limits at_least(double low) { return {.low = low}; }
constexpr Limits between(double low, double high) { return {low, high}; }

template <typename E>
concept ConfigEnum = std::is_enum_v<E> && requires(E e) {
  enum_words(e);
};

template <ConfigEnum E>
std::string_view to_word(E value) {
  return enum_words(value)[static_cast<size_t>(value)];
}

// A struct that lists its fields.
template <typename T, typename Visitor>
concept ConfigStruct = std::is_class_v<T> && requires(Visitor& visit, T& value) {
  fields(visit, value);
};

// The visitor that reads. TOML itself stays in config.cpp: this header is in every config's way.
class ConfigReader {
 public:
  // The file, then `overrides` such as "model.encoder.num_latents=256" over it.
  ConfigReader(const File& file, std::span<const std::string> overrides);
  ~ConfigReader();

  void operator()(ConfigKey key, int64_t& value, Limits limits = {});
  void operator()(ConfigKey key, double& value, Limits limits = {});
  void operator()(ConfigKey key, bool& value);
  void operator()(ConfigKey key, std::string& value);
  void operator()(ConfigKey key, std::vector<int64_t>& value, Limits limits = {});
  void operator()(ConfigKey key, std::vector<double>& value, Limits limits = {});
  void operator()(ConfigKey key, std::vector<std::string>& value);  // or one string

  template <typename T>
  void operator()(ConfigKey key, std::optional<T>& value, Limits limits = {}) {
    if (!has(key.name)) return;
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      (*this)(key, value.emplace(), limits);
    } else {
      (*this)(key, value.emplace());
    }
  }

  template <ConfigEnum E>
  void operator()(ConfigKey key, E& value) {
    const auto& words = enum_words(value);
    value = static_cast<E>(read_word(key.name, words, static_cast<size_t>(value)));
  }

  // A struct with fields of its own.
  template <typename T>
  requires std::is_class_v<T>
  void operator()(ConfigKey key, T& value) {
    enter(key.name);
    fields(*this, value);
    leave();
  }

  // A list of such structs.
  template <typename T>
  requires std::is_class_v<T>
  void operator()(ConfigKey key, std::vector<T>& values) {
    if (!has(key.name)) return;
    values.assign(enter_list(key.name), T{});
    for (size_t i = 0; i < values.size(); ++i) {
      enter_element(key.name, i);
      fields(*this, values[i]);
      leave();
    }
  }

  // Such structs by names of the file's own choice: [inputs.left], [inputs.right].
  template <typename T>
  void operator()(ConfigKey key, std::map<std::string, T>& values) {
    for (const std::string& name : enter_names(key.name)) {
      enter(name);
      fields(*this, values[name]);
      leave();
    }
    leave();
  }

  // One string, which must be there, before the struct that reads the rest is known: `task`.
  std::string peek(std::string_view key) const;

  // A key that this struct has no use for, and why.
  void refuse(std::string_view key, std::string_view why);

  // Called once every field was visited.
  void finish();

 private:
  bool has(std::string_view key);
  size_t read_word(std::string_view key, std::span<const std::string_view> words, size_t now);
  void enter(std::string_view key);
  std::vector<std::string> enter_names(std::string_view key);  // of the tables in it
  size_t enter_list(std::string_view key);
  void enter_element(std::string_view key, size_t index);
  void leave();

  struct State;
  std::unique_ptr<State> state_;
};

// Texts that were parsed so far in this process, command lines not counted: for tests.
int64_t num_parsed_configs();

template <typename Config>
Config read_config(const File& file, std::span<const std::string> overrides = {}) {
  Config config;
  ConfigReader reader(file, overrides);
  fields(reader, config);
  reader.finish();
  return config;
}

// The visitor that writes: every field with its value, as TOML that read_config takes.
class ConfigWriter {
 public:
  explicit ConfigWriter(std::string prefix = "") : prefix_(std::move(prefix)) {}

  void operator()(ConfigKey key, int64_t value, Limits = {}) { line(key.name, value); }
  void operator()(ConfigKey key, bool value) { line(key.name, value); }
  void operator()(ConfigKey key, double value, Limits = {});
  void operator()(ConfigKey key, const std::string& value);
  void operator()(ConfigKey key, const std::vector<int64_t>& value, Limits = {});
  void operator()(ConfigKey key, const std::vector<double>& value, Limits = {});
  void operator()(ConfigKey key, const std::vector<std::string>& value);

  template <typename T>
  void operator()(ConfigKey key, std::optional<T>& value, Limits = {}) {
    if (value) (*this)(key, *value);
  }

  template <ConfigEnum E>
  void operator()(ConfigKey key, E& value) {
    (*this)(key, std::string(to_word(value)));
  }

  template <typename T>
  requires ConfigStruct<T, ConfigWriter>
  void operator()(ConfigKey key, T& value) {
    ConfigWriter inner(fmt::format("{}{}.", prefix_, key.name));
    fields(inner, value);
    text_ += inner.text_;
  }

  // Each in braces, with what is not the default.
  template <typename T>
  requires ConfigStruct<T, ConfigWriter>
  void operator()(ConfigKey key, std::vector<T>& values) {
    std::vector<std::string> tables;
    for (T& value : values) {
      ConfigWriter inner, defaults;
      T none;
      fields(inner, value);
      fields(defaults, none);
      tables.push_back(inline_table(inner.text_, defaults.text_));
    }
    list(key.name, tables);
  }

  template <typename T>
  void operator()(ConfigKey key, std::map<std::string, T>& values) {
    for (auto& [name, value] : values) {
      ConfigWriter inner(fmt::format("{}{}.{}.", prefix_, key.name, key_text(name)));
      fields(inner, value);
      text_ += inner.text_;
    }
  }

  void refuse(std::string_view, std::string_view) {}

  const std::string& text() const { return text_; }

 private:
  template <typename T>
  void line(std::string_view key, const T& value) {
    text_ += fmt::format("{}{} = {}\n", prefix_, key, value);
  }
  void list(std::string_view key, const std::vector<std::string>& items);
  static std::string inline_table(const std::string& lines, const std::string& defaults);
  static std::string key_text(const std::string& name);  // in quotes where TOML wants them

  std::string prefix_, text_;
};

template <typename Config>
std::string to_toml(Config config) {
  ConfigWriter writer;
  fields(writer, config);
  return writer.text();
}

}  // namespace perceiver
