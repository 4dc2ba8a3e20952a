// Delimited text (RFC 4180): records of fields between commas or tabs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace perceiver {

// The lines of a file, one by one: without their ends, Unix's or Windows', and without the mark
// that some programs put before the first (BOM).
class TextLines {
 public:
  explicit TextLines(const std::filesystem::path& path);  // fails where it cannot be opened

  bool next(std::string& line);                  // false at the end
  int64_t number() const { return number_; }     // of the line last given, from 1
  std::string end() const { return line_end_; }  // what it ended with

 private:
  std::ifstream stream_;
  int64_t number_ = 0;
  std::string line_end_;
};

struct DelimitedFormat {
  char separator = ',';
  // A field in quotes may hold separators, line breaks and, doubled, quotes. Without: quotes are
  // letters like others, as in files of tab-separated values.
  bool quotes = true;
};

class DelimitedReader {
 public:
  DelimitedReader(const std::filesystem::path& path, DelimitedFormat format);

  // The fields of the next record; nothing at the end. Fails for an empty line and for quotes that
  // do not close; the record after it can be read all the same.
  std::optional<std::vector<std::string>> next();

  int64_t line() const { return line_; }  // where the record last read begins, from 1

 private:
  // The field in quotes that begins at `at` of the line, which may go on over further lines.
  std::string quoted(std::string& line, size_t& at);

  TextLines lines_;
  DelimitedFormat format_;
  int64_t line_ = 0;
};

}  // namespace perceiver
