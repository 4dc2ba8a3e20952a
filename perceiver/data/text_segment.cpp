#include "perceiver/data/text_segment.h"

#include <algorithm>

#include "perceiver/core/error.h"

namespace perceiver {

// A gzip file may inflate to a thousand times its size.
static constexpr int64_t kMostText = 128 << 20;

TextSegment::TextSegment(LineReader& reader, const SegmentRange& range, DocumentUnit unit,
                         bool is_json) {
  try {
    for (; const TextLine* line = reader.line(); reader.advance()) {
      if (line->position >= range.end) break;
      if (line->position < range.begin || line->offset < range.first_offset) continue;
      add(reader, *line, unit, is_json);
      if (size() > kMostText) {
        fail("{}: more than {} MiB of text in bytes {} to {}", reader.place(), kMostText >> 20,
             range.begin, range.end);
      }
    }
  } catch (const Error& e) {
    text_ = {};
    broken_ = {};
    error_ = e.what();
  }
  text_.shrink_to_fit();
}

void TextSegment::add(LineReader& reader, const TextLine& line, DocumentUnit unit, bool is_json) {
  if (unit == DocumentUnit::kFile && !is_json) {
    (text_ += line.text) += '\n';
    return;
  }
  const std::string_view document = line_document(line.text);
  if (document.empty()) return;
  std::string text;
  try {
    text = is_json ? json_document(document, "") : std::string(document);
  } catch (const Error& e) {
    broken_.push_back({size(), reader.place() + e.what()});
  }
  if (text.empty()) return;
  if (!text_.empty()) text_ += '\n';
  text_ += text;
}

std::string TextSegment::example(const Cut& cut, Rng& rng, WindowEdge edge) const {
  if (!error_.empty()) fail("{}", error_);
  if (text_.empty()) fail("{}", broken_.front().message);
  const int64_t begin = size() * cut.index / cut.count;
  const int64_t end = size() * (cut.index + 1) / cut.count;
  const bool is_last = cut.index + 1 == cut.count;
  for (const Broken& broken : broken_) {
    if (broken.at >= begin && (broken.at < end || is_last)) fail("{}", broken.message);
  }
  const int64_t taken = std::min(cut.stride, cut.bytes), piece = end - begin;
  const int64_t shift =
      piece > taken ? rng.integer(piece - taken + 1) : -rng.integer(taken - piece + 1);
  const int64_t from = std::max<int64_t>(0, std::min(begin + shift, size() - taken));
  return cut_window(text_, from, std::min(from + cut.bytes, size()), edge);
}

double text_of_byte(const std::filesystem::path& file, int64_t size, DocumentUnit unit) {
  constexpr int64_t kSample = 256 << 10;
  LineReader reader(file);
  const TextSegment segment(reader, {0, kSample, 0}, unit, is_json_lines(file));
  const TextLine* next = reader.line();  // throws what the segment could not read
  const int64_t bytes = next == nullptr ? size : next->position;
  return static_cast<double>(segment.size()) / static_cast<double>(bytes);
}

}  // namespace perceiver
