#include "perceiver/modalities/text_file.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

Ids marked(const SpecialIds& special, const Ids& a, const std::optional<Ids>& b, TextMarks marks) {
  if (marks == TextMarks::kClsAndSep) return wrap(special, a, b);
  Ids ids = a;
  if (b) {
    ids.push_back(special.sep);
    ids.insert(ids.end(), b->begin(), b->end());
  }
  return ids;
}

// Where parts of at most `longest` bytes end, cut as text_parts() does.
std::vector<int64_t> ends_of_bytes(const Ids& ids, int64_t longest) {
  std::string text;
  for (const int64_t id : ids) {
    const int64_t byte = id - ByteTokenizer::kNumSpecial;
    text += byte < 0 ? 'x' : static_cast<char>(byte);  // a mask stands for a letter
  }
  std::vector<int64_t> ends;
  for (const std::string_view part : text_parts(text, longest)) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + std::ssize(part));
  }
  return ends;
}

// The same of pieces: cut before a word, where one begins.
std::vector<int64_t> ends_of_pieces(const Ids& ids, int64_t longest,
                                    const SentencePieceTokenizer& tokenizer) {
  std::vector<int64_t> ends;
  for (int64_t begin = 0; begin < std::ssize(ids); begin = ends.back()) {
    int64_t end = std::min(std::ssize(ids), begin + longest);
    if (end < std::ssize(ids)) {
      int64_t word = end;
      while (word > begin && !begins_word(tokenizer, ids[word])) --word;
      if (word > begin) end = word;
    }
    ends.push_back(end);
  }
  return ends;
}

std::vector<Ids> parts_of(const Ids& ids, int64_t longest, const Tokenizer& tokenizer) {
  const auto* pieces = std::get_if<SentencePieceTokenizer>(&tokenizer);
  std::vector<Ids> parts;
  int64_t begin = 0;
  for (const int64_t end :
       pieces ? ends_of_pieces(ids, longest, *pieces) : ends_of_bytes(ids, longest)) {
    parts.emplace_back(ids.begin() + begin, ids.begin() + end);
    begin = end;
  }
  return parts;
}

void check_count(std::span<const File> files) {
  if (files.empty() || files.size() > 2) {
    fail("a model of texts takes one file, or a pair, got {}", files.size());
  }
}

}  // namespace

std::string_view text_in(const File& file) {
  std::string_view text = file.bytes;
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) fail("{}: the text is empty", file.name);
  // Texts of any encoding that is read as bytes have no zeros; pictures, sounds and archives do.
  if (text.find('\0') != text.npos) {
    fail("{}: a binary file, expected a text; is the model the right one (-m)?", file.name);
  }
  return text;
}

std::map<std::string, Tensor> read_texts(std::span<const File> files, const Tokenizer& tokenizer,
                                         int64_t length, TextMarks marks) {
  std::vector<Ids> texts;
  for (const File& file : files) texts.push_back(token_ids(tokenizer, text_in(file)));
  return rows_of_texts(files, texts, tokenizer, length, marks);
}

std::map<std::string, Tensor> rows_of_texts(std::span<const File> files,
                                            const std::vector<Ids>& texts,
                                            const Tokenizer& tokenizer, int64_t length,
                                            TextMarks marks) {
  check_count(files);
  const SpecialIds special = special_ids(tokenizer);
  std::vector<Ids> rows;
  if (files.size() == 2) {
    rows.push_back(marked(special, texts[0], texts[1], marks));
    const auto size = std::ssize(rows[0]);
    if (size > length) {
      fail("{} and {}: {} {} together, the model reads {}; shorten them", files[0].name,
           files[1].name, size, is_of_bytes(tokenizer) ? "bytes" : "tokens", length);
    }
  } else {
    if (texts[0].empty()) fail("{}: the text is empty", files[0].name);  // spaces alone, as pieces
    const int64_t num_marks = marks == TextMarks::kClsAndSep ? 2 : 0;
    for (const Ids& part : parts_of(texts[0], length - num_marks, tokenizer)) {
      rows.push_back(marked(special, part, {}, marks));
    }
  }
  const TokenBatch batch = pad_or_crop(rows, length, special.pad);
  return {{"ids", batch.ids}, {"mask", batch.mask}};
}

TokenBatch text_rows(const std::map<std::string, Tensor>& example, at::Device device) {
  const Tensor &ids = example.at("ids"), &mask = example.at("mask");
  const int64_t used = mask.sum(1).max().item<int64_t>();
  return {ids.narrow(1, 0, used).to(device), mask.narrow(1, 0, used).to(device)};
}

}  // namespace perceiver
