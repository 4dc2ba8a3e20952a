#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// The absolute path of what `name` names here; `name` itself where there is nothing of that name:
// a model's name, say.
std::string absolute_path(const std::string& name);

// A visitor of a config's fields (core/config.h) that makes their paths absolute.
class AbsolutePaths {
 public:
  // Of strings one is always a word: the tokenizer that has no file.
  void operator()(std::string_view, std::string& value) {
    if (value != "bytes") value = absolute_path(value);
  }
  void operator()(std::string_view, std::vector<std::string>& values) {
    for (std::string& value : values) value = absolute_path(value);
  }

  template <typename T>
  requires requires(AbsolutePaths& visit, T& value) { fields(visit, value); }
  void operator()(std::string_view, T& value) { fields(*this, value); }

  // Numbers and words.
  template <typename... Rest>
  void operator()(std::string_view, Rest&&...) {}
};

}  // namespace perceiver
