// The lines of a text.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// Without the line breaks, Unix's or Windows'. After the last one no line begins.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    begin = end + 1;
  }
  return lines;
}

}  // namespace perceiver
