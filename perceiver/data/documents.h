// Documents of text files: a line each, a file each, or the key "text" of each line of a .jsonl.
// What is kept is where each begins, and the texts of files as long as there is room for them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/core/rng.h"

namespace perceiver {

// What a document is in a .txt file.
enum class DocumentUnit { kLine, kFile };
constexpr std::array<std::string_view, 2> enum_words(DocumentUnit) { return {"line", "file"}; }

// Where a window may begin and end: at any byte, or between two words (where a word is longer than
// the window, between two characters).
enum class WindowEdge { kByte, kWord };

class Documents {
 public:
  // Files, and folders with .txt and .jsonl files at any depth, in the order of their names.
  // `room` is in bytes; texts of files for which there is none stay on disk.
  static constexpr int64_t kRoom = 1LL << 30;
  Documents(const std::vector<std::string>& paths, DocumentUnit unit, int64_t room = kRoom);

  int64_t size() const { return static_cast<int64_t>(documents_.size()); }

  // Documents [begin, end) alone.
  void keep(int64_t begin, int64_t end);

  // `count` documents from `first` on (after the last comes the first), a line break between two:
  // `bytes` of them in a row, from a random place, or all when they are fewer. Words that the
  // window's edges cut in two are left out.
  std::string window(int64_t first, int64_t count, int64_t bytes, Rng& rng,
                     WindowEdge edge = WindowEdge::kByte) const;

 private:
  struct Document {
    int64_t offset, length;  // in the file
    int32_t file, line;      // line counts from 1
  };

  struct Piece {
    const Document* document;
    std::string text;  // of a JSON line, which must be read to know its length
    int64_t length;
  };

  struct TextFile {
    std::filesystem::path path;
    bool is_json;
    std::string text;  // empty: on disk
  };

  void add_file(const std::filesystem::path& path, DocumentUnit unit);
  void take_text(TextFile& file);
  std::vector<Piece> pieces(int64_t first, int64_t count) const;
  // Bytes [begin, end) of the pieces, a line break between two.
  std::string joined(const std::vector<Piece>& pieces, int64_t begin, int64_t end) const;
  std::string read(const Document& document, int64_t begin, int64_t end) const;
  std::string json_text(const Document& document) const;

  int64_t room_;
  std::vector<TextFile> files_;
  std::vector<Document> documents_;
};

}  // namespace perceiver
