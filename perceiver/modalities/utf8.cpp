#include "perceiver/modalities/utf8.h"

#include <algorithm>

namespace perceiver {

// What may follow a first byte (Unicode 15, Tab. 3-7): how many bytes, and the second one's range.
static constexpr struct {
  unsigned char first, last;
  size_t following;
  unsigned char low, high;
} kWellFormed[] = {
    {0x00, 0x7F, 0, 0x80, 0xBF}, {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
    {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF},
    {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F},
};

// The character that begins at `begin`: how many of its bytes are there, and how many are missing.
// Ill-formed: the bytes that can only belong together, and nothing.
struct Utf8Character {
  size_t size;
  std::optional<int64_t> missing;
};

static Utf8Character utf8_character(std::string_view bytes, size_t begin) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto row = std::ranges::find_if(
      kWellFormed, [&](const auto& r) { return r.first <= at(begin) && at(begin) <= r.last; });
  if (row == std::end(kWellFormed)) return {1, {}};
  size_t size = 1;
  for (; size <= row->following; ++size) {
    if (begin + size == bytes.size()) break;
    const unsigned char low = size == 1 ? row->low : 0x80, high = size == 1 ? row->high : 0xBF;
    // The byte that breaks a sequence is not part of it: it may begin the next.
    if (at(begin + size) < low || at(begin + size) > high) return {size, {}};
  }
  return {size, static_cast<int64_t>(row->following + 1 - size)};
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size();) {
    const Utf8Character character = utf8_character(bytes, i);
    text += character.missing == 0 ? bytes.substr(i, character.size) : "\uFFFD";
    i += character.size;
  }
  return text;
}

std::optional<int64_t> missing_utf8_bytes(std::string_view bytes) {
  std::optional<int64_t> missing = 0;
  for (size_t i = 0; i < bytes.size() && missing;) {
    const Utf8Character character = utf8_character(bytes, i);
    missing = character.missing;
    i += character.size;
  }
  return missing;
}

std::vector<std::string_view> text_parts(std::string_view text, int64_t longest) {
  const auto most = static_cast<size_t>(longest);
  std::vector<std::string_view> parts;
  while (text.size() > most) {
    size_t end = text.rfind(' ', most);
    if (end == text.npos || end == 0) {
      end = most;
      while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
      if (end == 0) end = most;  // no UTF-8: nothing to respect
    }
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (!text.empty()) parts.push_back(text);
  return parts;
}

}  // namespace perceiver
