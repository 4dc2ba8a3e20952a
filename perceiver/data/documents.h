// Documents of text files, any of them at once: a line each, a file each, or the key "text" of each
// line of JSON. What is kept is where each begins, and the texts of files as long as there is room.
// For more text than that: corpus.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/core/rng.h"
#include "perceiver/data/text_files.h"

namespace perceiver {

class Documents {
 public:
  // Files, and those of folders (text_files.h). `room` is in bytes; texts of files for which there
  // is none stay on disk, which those of a .gz cannot.
  static constexpr int64_t kRoom = 1LL << 30;
  Documents(const std::vector<std::string>& paths, DocumentUnit unit, int64_t room = kRoom);

  // Texts that were read already; names as files have them.
  Documents(std::vector<File> texts, DocumentUnit unit);

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
  void add_text(const std::filesystem::path& path, std::string text, DocumentUnit unit);
  void add_line(std::string_view text, int64_t offset, int64_t line);  // of the last file
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
