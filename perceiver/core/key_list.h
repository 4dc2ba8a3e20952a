// The keys of a config as a list for people: name, type, value and meaning of each.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

struct ListedKey {
  std::string path;   // "model.encoder.num_latents"
  std::string kind;   // the path with NAME where it has a name of the config's own
  std::string type;   // "integer, at least 1"; "table": of the keys that follow
  std::string value;  // as TOML; empty: of a table, or of a key that is not set
  std::string meaning;

  bool is_table() const { return type == "table"; }
};

// "integer", "list of strings"; of an enum its words.
std::string type_text(const int64_t&);
std::string type_text(const double&);
std::string type_text(const bool&);
std::string type_text(const std::string&);
std::string type_text(const std::vector<int64_t>&);
std::string type_text(const std::vector<double>&);
std::string type_text(const std::vector<std::string>&);
std::string words_text(std::span<const std::string_view> words);

template <ConfigEnum E>
std::string type_text(const E& value) {
  return words_text(enum_words(value));
}

template <typename T>
std::string type_text(const std::optional<T>&) {
  return type_text(T{});
}

std::string limits_text(Limits limits);  // ", at least 1", ", 0 to 1", ""

// The visitor that lists. Tables by name are listed one by one, or once as NAME where there are
// none; behind a list of tables, "[]" stands for the keys of each.
class KeyLister {
 public:
  explicit KeyLister(std::string path = "", std::string kind = "")
      : path_(std::move(path)), kind_(std::move(kind)) {}

  template <typename T>
  void operator()(ConfigKey key, T& value, Limits limits = {}) {
    const std::string name(key.name);
    if constexpr (ConfigStruct<T, KeyLister>) {
      list_table(name, name, key, value);
    } else {
      ConfigWriter writer;
      writer("", value);
      list_value(key, type_text(value) + limits_text(limits), writer.text());
    }
  }

  template <typename T>
  requires ConfigStruct<T, KeyLister>
  void operator()(ConfigKey key, std::vector<T>& values) {
    ConfigWriter writer;
    writer("", values);
    list_value(key, "list of tables", writer.text());
    T defaults;
    const std::string each = fmt::format("{}[]", key.name);
    list_table(each, each, key, defaults);
  }

  template <typename T>
  void operator()(ConfigKey key, std::map<std::string, T>& values) {
    const std::string any = fmt::format("{}.NAME", key.name);
    for (auto& [name, value] : values) {
      list_table(fmt::format("{}.{}", key.name, name), any, key, value);
    }
    T defaults;
    if (values.empty()) list_table(any, any, key, defaults);
  }

  void refuse(std::string_view, std::string_view) {}

  const std::vector<ListedKey>& keys() const { return keys_; }

 private:
  void list_value(ConfigKey key, std::string type, const std::string& line);  // " = 256\n" or ""

  template <typename T>
  void list_table(const std::string& name, const std::string& kind, ConfigKey key, T& value) {
    keys_.push_back({path_ + name, kind_ + kind, "table", "", std::string(key.meaning)});
    KeyLister inner(keys_.back().path + ".", keys_.back().kind + ".");
    fields(inner, value);
    keys_.insert(keys_.end(), inner.keys_.begin(), inner.keys_.end());
  }

  std::string path_, kind_;  // of the table that is listed, with a dot
  std::vector<ListedKey> keys_;
};

template <typename Config>
std::vector<ListedKey> list_keys(Config config) {
  KeyLister lister;
  fields(lister, config);
  return lister.keys();
}

}  // namespace perceiver
