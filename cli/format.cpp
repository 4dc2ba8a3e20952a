#include "cli/format.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace perceiver {

std::string amount(double value) {
  for (const auto& [unit, letter] : {std::pair{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}) {
    if (value >= 0.9995 * unit) return fmt::format("{:.4g}{}", value / unit, letter);
  }
  return fmt::format("{:.4g}", value);
}

std::string bytes(int64_t value) {
  for (const auto& [power, unit] : {std::pair{30, "GiB"}, {20, "MiB"}, {10, "KiB"}}) {
    if (value >= int64_t{1} << power) {
      return fmt::format("{:.1f} {}", value / static_cast<double>(int64_t{1} << power), unit);
    }
  }
  return fmt::format("{} B", value);
}

std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::istringstream words(text);
  std::string result, line(indent, ' '), word;
  while (words >> word) {
    if (line.size() > indent && line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line.assign(indent, ' ');
    }
    line += (line.size() > indent ? " " : "") + word;
  }
  return result + line + "\n";
}

bool colours_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace perceiver
