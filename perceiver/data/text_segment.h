// The documents of a part of a text file, joined and cut into examples.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/rng.h"
#include "perceiver/data/line_reader.h"
#include "perceiver/data/text_files.h"

namespace perceiver {

// Which lines: those that begin at bytes [begin, end) of the file, and at `first_offset` of its
// text or behind.
struct SegmentRange {
  int64_t begin, end, first_offset;
};

class TextSegment {
 public:
  // Reads on from where the reader is. What cannot be read is an error of the examples.
  TextSegment(LineReader& reader, const SegmentRange& range, DocumentUnit unit, bool is_json);
  explicit TextSegment(std::string error) : error_(std::move(error)) {}

  int64_t size() const { return std::ssize(text_); }
  bool is_empty() const { return text_.empty() && broken_.empty() && error_.empty(); }

  // Example `index` of `count` that are cut from it, as TextStream says; not of an empty one. Fails
  // where a line that cannot be read stands in its piece.
  struct Cut {
    int64_t index, count, stride, bytes;
  };
  std::string example(const Cut& cut, Rng& rng, WindowEdge edge) const;

 private:
  struct Broken {
    int64_t at;  // in the text: where the document would stand
    std::string message;
  };

  void add(LineReader& reader, const TextLine& line, DocumentUnit unit, bool is_json);

  std::string text_, error_;
  std::vector<Broken> broken_;
};

// Bytes of documents for each byte of the file, of its first lines; 0: there are no documents.
double text_of_byte(const std::filesystem::path& file, int64_t size, DocumentUnit unit);

}  // namespace perceiver
