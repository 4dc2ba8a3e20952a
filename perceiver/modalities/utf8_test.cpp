#include "perceiver/modalities/utf8.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(ReplaceInvalidUtf8, AgreesWithPython) {  // bytes.decode("utf-8", errors="replace")
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"ok", "ok"},
      {"\x80", "\uFFFD"},            // a byte that begins nothing
      {"a\xFFz", "a\uFFFDz"},        // a byte of no sequence
      {"\xC0\xAF", "\uFFFD\uFFFD"},  // too long a form of '/'
      {"\xE6\x97", "\uFFFD"},        // cut at the end: one for both
      {"\xE6\x97"
       "a",
       "\uFFFD"
       "a"},                                             // cut by another character
      {"\xE6\xE6\x97\xA5", "\uFFFD\u65E5"},              // cut by the beginning of one
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // half of a surrogate pair
      {"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},            // too long a form of NUL
      {"\xF0\x9F\x9B", "\uFFFD"},                        // three bytes of four
      {"\xF0\x9F\x9B\xB0", "\U0001F6F0"},                // all four
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // past U+10FFFF
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(replace_invalid_utf8(bytes), text);
}

TEST(MissingUtf8Bytes, AreThoseOfTheLastCharacter) {
  const std::pair<std::string_view, std::optional<int64_t>> cases[] = {
      {"", 0},          {"ok", 0},    {"\xC3", 1},
      {"\xC3\xA9", 0},  {"a\xF0", 3}, {"a\xF0\x9F\x9B", 1},
      {"\xE0\x80", {}},                                  // too long a form
      {"\xC3z", {}},    {"\x80", {}}, {"\xED\xA0", {}},  // half of a surrogate pair
  };
  for (const auto& [bytes, missing] : cases) EXPECT_EQ(missing_utf8_bytes(bytes), missing);
}

TEST(TextParts, AreCutBeforeSpacesElseBetweenCharacters) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(text_parts("", 5), Parts{});
  EXPECT_EQ(text_parts("a bcd", 5), Parts{"a bcd"});
  EXPECT_EQ(text_parts("a bcd ef", 5), (Parts{"a bcd", " ef"}));
  EXPECT_EQ(text_parts("a bcd ef", 4), (Parts{"a", " bcd", " ef"}));
  EXPECT_EQ(text_parts("abcdefg", 3), (Parts{"abc", "def", "g"}));
  EXPECT_EQ(text_parts("a\u00E9\u00E9", 4), (Parts{"a\u00E9", "\u00E9"}));
  EXPECT_EQ(text_parts("\x80\x80\x80", 2), (Parts{"\x80\x80", "\x80"}));
}

}  // namespace
}  // namespace perceiver
