#include "cli/format.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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

std::string grouped(int64_t value) {
  if (value < 1000) return std::to_string(value);
  return fmt::format("{},{:03}", grouped(value / 1000), value % 1000);
}

std::string array(int64_t index, int64_t channels) {
  return fmt::format("{} x {}", grouped(index), grouped(channels));
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("  {:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
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
