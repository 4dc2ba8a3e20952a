#pragma once

#include <string>
#include <vector>

#include "perceiver/core/config_key.h"

namespace perceiver {

// The absolute path of what `name` names here; `name` itself where there is nothing of that name:
// a model's name, say.
std::string absolute_path(const std::string& name);

// A visitor of a config's fields (core/config.h) that makes their paths absolute.
class AbsolutePaths {
 public:
  // Of strings these are paths; others are words, such as the name of a column. One is always a
  // word: the tokenizer that has no file.
  void operator()(ConfigKey key, std::string& value) {
    const bool path = key.name == "tokenizer" || key.name == "from" || key.name == "table";
    if (path && value != "bytes") value = absolute_path(value);
  }
  void operator()(ConfigKey, std::vector<std::string>& values) {
    for (std::string& value : values) value = absolute_path(value);
  }

  template <typename T>
  requires requires(AbsolutePaths& visit, T& value) { fields(visit, value); }
  void operator()(ConfigKey, T& value) { fields(*this, value); }

  // Numbers and words.
  template <typename... Rest>
  void operator()(ConfigKey, Rest&&...) {}
};

}  // namespace perceiver
