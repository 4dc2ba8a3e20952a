#include "perceiver/data/documents.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

bool is_text(const fs::path& path) {
  return path.extension() == ".txt" || path.extension() == ".jsonl";
}

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && is_text(entry.path())) files.push_back(entry.path());
  }
  if (files.empty()) fail("{}: no .txt or .jsonl files in this folder", path.string());
  std::sort(files.begin(), files.end());
  return files;
}

std::ifstream open(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  return stream;
}

// `text` without its first and its last byte, where these are asked to go, and without the words
// that they are part of; where that leaves nothing, without the characters.
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

}  // namespace

Documents::Documents(const std::vector<std::string>& paths, DocumentUnit unit, int64_t room)
    : room_(room) {
  for (const std::string& path : paths) {
    for (const fs::path& file : files_of(path)) add_file(file, unit);
  }
}

void Documents::add_file(const fs::path& path, DocumentUnit unit) {
  const auto file = static_cast<int32_t>(files_.size());
  files_.push_back({path, path.extension() == ".jsonl", {}});
  take_text(files_.back());
  if (unit == DocumentUnit::kFile && !files_.back().is_json) {
    const auto length = static_cast<int64_t>(fs::file_size(path));
    if (length > 0) documents_.push_back({0, length, file, 1});
    return;
  }
  std::ifstream stream = open(path);
  std::string text;
  int64_t offset = 0;
  for (int32_t line = 1; std::getline(stream, text); ++line) {
    const auto length = static_cast<int64_t>(text.size());
    const size_t last = text.find_last_not_of(" \t\r");
    if (last != text.npos) {
      documents_.push_back({offset, static_cast<int64_t>(last) + 1, file, line});
    }
    offset += length + 1;
  }
}

void Documents::take_text(TextFile& file) {
  const auto length = static_cast<int64_t>(fs::file_size(file.path));
  if (length > room_) return;
  file.text = read_file(file.path).bytes;
  room_ -= static_cast<int64_t>(file.text.size());
}

void Documents::keep(int64_t begin, int64_t end) {
  documents_ = std::vector(documents_.begin() + begin, documents_.begin() + end);
  std::vector<bool> kept(files_.size());
  for (const Document& document : documents_) kept[document.file] = true;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (!kept[i]) files_[i].text = {};
  }
}

std::vector<Documents::Piece> Documents::pieces(int64_t first, int64_t count) const {
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < std::min(count, size()); ++i) {
    const Document& document = documents_[(first + i) % size()];
    Piece piece{&document, "", document.length};
    if (files_[document.file].is_json) {
      piece.text = json_text(document);
      piece.length = static_cast<int64_t>(piece.text.size());
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::string Documents::joined(const std::vector<Piece>& pieces, int64_t begin, int64_t end) const {
  std::string text;
  int64_t at = 0;  // where the piece begins
  for (const Piece& piece : pieces) {
    if (at > begin && at <= end) text += '\n';
    const int64_t from = std::clamp<int64_t>(begin - at, 0, piece.length);
    const int64_t to = std::clamp<int64_t>(end - at, from, piece.length);
    if (to > from) {
      text +=
          piece.text.empty() ? read(*piece.document, from, to) : piece.text.substr(from, to - from);
    }
    at += piece.length + 1;
  }
  return text;
}

std::string Documents::window(int64_t first, int64_t count, int64_t bytes, Rng& rng,
                              WindowEdge edge) const {
  const std::vector<Piece> all = pieces(first, count);
  int64_t total = -1;  // one line break fewer than there are documents
  for (const Piece& piece : all) total += piece.length + 1;
  const int64_t begin = total > bytes ? rng.integer(total - bytes + 1) : 0;
  const int64_t end = begin + std::min(total, bytes);
  if (edge == WindowEdge::kByte) return joined(all, begin, end);
  // With a byte more on either side, which tells whether a word goes on there.
  const int64_t before = begin > 0, behind = end < total;
  return whole_words(joined(all, begin - before, end + behind), before > 0, behind > 0);
}

std::string Documents::read(const Document& document, int64_t begin, int64_t end) const {
  const TextFile& file = files_[document.file];
  if (!file.text.empty()) return file.text.substr(document.offset + begin, end - begin);
  std::ifstream stream = open(file.path);
  std::string text(end - begin, '\0');
  stream.seekg(document.offset + begin);
  if (!stream.read(text.data(), end - begin)) {
    fail("{}: is shorter than it was when training began", file.path.string());
  }
  return text;
}

std::string Documents::json_text(const Document& document) const {
  const auto json = nlohmann::json::parse(read(document, 0, document.length), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("text") || !json["text"].is_string()) {
    fail("{}:{}: must be a JSON object with a string 'text'", files_[document.file].path.string(),
         document.line);
  }
  return json["text"].get<std::string>();
}

}  // namespace perceiver
