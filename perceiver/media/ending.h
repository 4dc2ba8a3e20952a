// What a file's name says of its format.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace perceiver {

// ".png" of "a/B.PNG"
inline std::string ending_in_lower_case(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

inline bool has_ending(const std::filesystem::path& path,
                       std::span<const std::string_view> endings) {
  return std::find(endings.begin(), endings.end(), ending_in_lower_case(path)) != endings.end();
}

}  // namespace perceiver
