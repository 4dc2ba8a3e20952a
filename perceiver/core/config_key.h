// A key of a config: its name, and what it means to those who write one.
#pragma once

#include <string_view>

namespace perceiver {

struct ConfigKey {
  // Without a meaning: a key of files that are the project's own, which nobody else writes.
  constexpr ConfigKey(const char* name, const char* meaning = "") : name(name), meaning(meaning) {}

  std::string_view name, meaning;
};

}  // namespace perceiver
