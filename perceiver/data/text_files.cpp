#include "perceiver/data/text_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// ".json" of c4-train.00000-of-01024.json.gz
fs::path kind_of(const fs::path& path) {
  return is_gzip(path) ? path.stem().extension() : path.extension();
}

}  // namespace

bool is_gzip(const fs::path& path) { return path.extension() == ".gz"; }

bool is_json_lines(const fs::path& path) {
  return kind_of(path) == ".jsonl" || kind_of(path) == ".json";
}

std::vector<fs::path> text_files(const fs::path& path) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    const bool is_text = kind_of(entry.path()) == ".txt" || is_json_lines(entry.path());
    if (is_text && entry.is_regular_file()) files.push_back(entry.path());
  }
  if (files.empty()) {
    fail("{}: no .txt, .jsonl or .json files in this folder, nor such with .gz", path.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string_view line_document(std::string_view line) {
  const size_t last = line.find_last_not_of(" \t\r");
  return last == line.npos ? std::string_view() : line.substr(0, last + 1);
}

std::string json_document(std::string_view line, std::string_view place) {
  auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("text") || !json["text"].is_string()) {
    fail("{}: must be a JSON object with a string 'text'", place);
  }
  return std::move(json["text"].get_ref<std::string&>());
}

std::string cut_window(std::string_view text, int64_t begin, int64_t end, WindowEdge edge) {
  if (edge == WindowEdge::kByte) return std::string(text.substr(begin, end - begin));
  // With a byte more on either side, which tells whether a word goes on there.
  const int64_t before = begin > 0, behind = end < std::ssize(text);
  return whole_words(std::string(text.substr(begin - before, end - begin + before + behind)),
                     before > 0, behind > 0);
}

std::string whole_words(const std::string& text, bool cut_first, bool cut_last) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const auto inside_character = [&](size_t at) {
    return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;  // of UTF-8
  };
  size_t first_character = cut_first, last_character = text.size() - cut_last;
  while (cut_first && inside_character(first_character)) ++first_character;
  while (cut_last && last_character > 0 && inside_character(last_character)) --last_character;

  const size_t first_word = text.find_first_not_of(kSpaces, text.find_first_of(kSpaces));
  const size_t begin = cut_first && first_word < last_character ? first_word : first_character;
  const size_t last_space = text.find_last_of(kSpaces);
  const bool words = last_space != text.npos && last_space > begin;
  const size_t end = cut_last && words ? last_space : last_character;
  return begin < end ? text.substr(begin, end - begin) : std::string();
}

}  // namespace perceiver
