// Files of text: those of a folder, what a document is in each, and where a text may be cut.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

// What a document is in a .txt file.
enum class DocumentUnit { kLine, kFile };
constexpr std::array<std::string_view, 2> enum_words(DocumentUnit) { return {"line", "file"}; }

// Where a window may begin and end: at any byte, or between two words (where a word is longer than
// the window, between two characters).
enum class WindowEdge { kByte, kWord };

bool is_gzip(const std::filesystem::path& path);

// Lines of JSON, each an object with the document as "text": .jsonl and .json, also with .gz
// behind.
bool is_json_lines(const std::filesystem::path& path);

// The file itself, or a folder's .txt, .jsonl and .json, plain or .gz, at any depth, in the order
// of their names.
std::vector<std::filesystem::path> text_files(const std::filesystem::path& path);

// A line of a text without the blanks at its end; empty: no document.
std::string_view line_document(std::string_view line);

// The document of a line of JSON. `place` is for the message where it is none.
std::string json_document(std::string_view line, std::string_view place);

// Bytes [begin, end) of a text, or less where words may not be cut.
std::string cut_window(std::string_view text, int64_t begin, int64_t end, WindowEdge edge);

// `text` without its first and its last byte, where these are asked to go, and without the words
// that they are part of; where that leaves nothing, without the characters.
std::string whole_words(const std::string& text, bool cut_first, bool cut_last);

}  // namespace perceiver
