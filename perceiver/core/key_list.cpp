#include "perceiver/core/key_list.h"

#include <cmath>

namespace perceiver {

std::string type_text(const int64_t&) { return "integer"; }
std::string type_text(const double&) { return "float"; }
std::string type_text(const bool&) { return "true or false"; }
std::string type_text(const std::string&) { return "string"; }
std::string type_text(const std::vector<int64_t>&) { return "list of integers"; }
std::string type_text(const std::vector<double>&) { return "list of numbers"; }
std::string type_text(const std::vector<std::string>&) { return "list of strings"; }

std::string words_text(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string limits_text(Limits limits) {
  const bool has_low = std::isfinite(limits.low), has_high = std::isfinite(limits.high);
  if (has_low && has_high) return fmt::format(", {} to {}", limits.low, limits.high);
  if (has_low) return fmt::format(", at least {}", limits.low);
  return has_high ? fmt::format(", at most {}", limits.high) : "";
}

void KeyLister::list_value(ConfigKey key, std::string type, const std::string& line) {
  constexpr std::string_view kBefore = " = ";
  const std::string value =
      line.empty() ? "" : line.substr(kBefore.size(), line.size() - kBefore.size() - 1);
  const std::string name(key.name);
  keys_.push_back({path_ + name, kind_ + name, std::move(type), value, std::string(key.meaning)});
}

}  // namespace perceiver
