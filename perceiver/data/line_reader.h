// The lines of a text file, plain or gzip, one after the other and from any place on, with no more
// of it in memory than a line and a block.
#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "perceiver/data/gzip.h"

namespace perceiver {

struct TextLine {
  std::string_view text;  // without its line break, until the reader goes on
  int64_t offset;         // where it begins in the text
  int64_t position;  // and in the file; in a .gz, where the deflate block begins in which it does
};

class LineReader {
 public:
  // Lines that begin at byte `begin` or later; a .gz is read from its beginning.
  explicit LineReader(const std::filesystem::path& path, int64_t begin = 0);

  const TextLine* line();  // the next one; null: there is none
  void advance();          // past it

  std::string place();  // of the next line, for messages: "a.jsonl:3"

  static constexpr int64_t kLongestLine = 16 << 20;

 private:
  struct Block {
    int64_t offset, position;
  };

  bool fill();
  int64_t position_of(int64_t offset);

  std::filesystem::path path_;
  std::unique_ptr<GzipReader> gzip_;  // null: the file is plain
  std::ifstream plain_;
  std::string buffer_;
  int64_t buffer_offset_ = 0;  // of its first byte in the text
  size_t at_ = 0;              // in the buffer: where the next line begins
  std::deque<Block> blocks_;   // those in the buffer
  TextLine line_ = {};
  bool has_line_ = false;
  int64_t first_offset_ = 0, lines_before_ = -1;  // of the first line read; -1: not counted yet
  int64_t lines_read_ = 0;
};

}  // namespace perceiver
