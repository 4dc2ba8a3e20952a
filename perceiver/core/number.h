// A number as people write it.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace perceiver {

// Of all of the text; nothing where it is none, has more behind it, or does not fit.
template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return {};
  return value;
}

}  // namespace perceiver
