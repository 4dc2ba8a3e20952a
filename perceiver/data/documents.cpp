#include "perceiver/data/documents.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "perceiver/core/error.h"
#include "perceiver/data/gzip.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::ifstream open(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  return stream;
}

}  // namespace

Documents::Documents(const std::vector<std::string>& paths, DocumentUnit unit, int64_t room)
    : room_(room) {
  for (const std::string& path : paths) {
    for (const fs::path& file : text_files(path)) add_file(file, unit);
  }
}

Documents::Documents(std::vector<File> texts, DocumentUnit unit) : room_(0) {
  for (File& text : texts) add_text(text.name, std::move(text.bytes), unit);
}

void Documents::add_file(const fs::path& path, DocumentUnit unit) {
  const bool zipped = is_gzip(path);
  const auto length = static_cast<int64_t>(fs::file_size(path));
  if (zipped || length <= room_) {
    std::string text = zipped ? read_gzip(path, room_) : read_file(path).bytes;
    room_ -= std::ssize(text);
    return add_text(path, std::move(text), unit);
  }
  files_.push_back({path, is_json_lines(path), {}});
  if (unit == DocumentUnit::kFile && !files_.back().is_json) {
    documents_.push_back({0, length, static_cast<int32_t>(files_.size()) - 1, 1});
    return;
  }
  std::ifstream stream = open(path);
  std::string text;
  int64_t offset = 0;
  for (int64_t line = 1; std::getline(stream, text); ++line) {
    add_line(text, offset, line);
    offset += std::ssize(text) + 1;
  }
}

void Documents::add_text(const fs::path& path, std::string text, DocumentUnit unit) {
  files_.push_back({path, is_json_lines(path), std::move(text)});
  const std::string_view all = files_.back().text;
  if (unit == DocumentUnit::kFile && !files_.back().is_json) {
    const auto file = static_cast<int32_t>(files_.size()) - 1;
    if (!all.empty()) documents_.push_back({0, std::ssize(all), file, 1});
    return;
  }
  int64_t line = 1;
  for (size_t begin = 0; begin < all.size(); ++line) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    add_line(all.substr(begin, end - begin), static_cast<int64_t>(begin), line);
    begin = end + 1;
  }
}

void Documents::add_line(std::string_view text, int64_t offset, int64_t line) {
  const std::string_view document = line_document(text);
  if (document.empty()) return;
  documents_.push_back({offset, std::ssize(document), static_cast<int32_t>(files_.size()) - 1,
                        static_cast<int32_t>(line)});
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
  return json_document(read(document, 0, document.length),
                       fmt::format("{}:{}", files_[document.file].path.string(), document.line));
}

}  // namespace perceiver
