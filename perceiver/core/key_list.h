// The keys of a config as a list for people: name, type, value and meaning of each.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/config.h"

namespace perceiver {

struct ListedKey {
  std::string path;   // "model.encoder.num_latents"
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

// The visitor that lists.
class KeyLister {
 public:
  explicit KeyLister(std::string prefix = "") : prefix_(std::move(prefix)) {}

  template <typename T>
  void operator()(ConfigKey key, T& value, Limits limits = {}) {
    const std::string path = fmt::format("{}{}", prefix_, key.name), meaning(key.meaning);
    if constexpr (ConfigStruct<T, KeyLister>) {
      keys_.push_back({path, "table", "", meaning});
      KeyLister inner(path + ".");
      fields(inner, value);
      keys_.insert(keys_.end(), inner.keys_.begin(), inner.keys_.end());
    } else {
      ConfigWriter writer;
      writer("", value);
      keys_.push_back(
          {path, type_text(value) + limits_text(limits), value_in(writer.text()), meaning});
    }
  }

  void refuse(std::string_view, std::string_view) {}

  const std::vector<ListedKey>& keys() const { return keys_; }

 private:
  static std::string value_in(const std::string& line);  // of " = 256\n"; "" of none

  std::string prefix_;
  std::vector<ListedKey> keys_;
};

template <typename Config>
std::vector<ListedKey> list_keys(Config config) {
  KeyLister lister;
  fields(lister, config);
  return lister.keys();
}

}  // namespace perceiver
