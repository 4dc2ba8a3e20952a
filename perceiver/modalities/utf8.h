// UTF-8: what is well-formed, and where a text may be cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// `bytes` with each ill-formed part replaced by U+FFFD, as Python's errors="replace" does.
std::string replace_invalid_utf8(std::string_view bytes);

// How many bytes the last character of `bytes` still lacks: 0 for well-formed UTF-8; nothing where
// no bytes could make it so.
std::optional<int64_t> missing_utf8_bytes(std::string_view bytes);

// A text in parts of at most `longest` bytes, none for an empty one. Cut before a space where there
// is one, which then belongs to the word behind it; else between two characters.
std::vector<std::string_view> text_parts(std::string_view text, int64_t longest);

}  // namespace perceiver
