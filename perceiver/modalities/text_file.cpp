#include "perceiver/modalities/text_file.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

constexpr int64_t kPad = ByteTokenizer::kPad;

Ids marked(const Ids& a, const std::optional<Ids>& b, TextMarks marks) {
  if (marks == TextMarks::kClsAndSep) return wrap(ByteTokenizer().special(), a, b);
  Ids ids = a;
  if (b) {
    ids.push_back(ByteTokenizer::kSep);
    ids.insert(ids.end(), b->begin(), b->end());
  }
  return ids;
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

std::map<std::string, Tensor> read_bytes(std::span<const File> files, int64_t vocabulary_size,
                                         int64_t length, TextMarks marks) {
  if (vocabulary_size != ByteTokenizer::kVocabularySize) {
    fail("files are read as bytes, a vocabulary of {}; the model's has {}",
         ByteTokenizer::kVocabularySize, vocabulary_size);
  }
  if (files.empty() || files.size() > 2) {
    fail("a model of texts takes one file, or a pair, got {}", files.size());
  }
  const ByteTokenizer tokenizer;
  std::vector<Ids> rows;
  if (files.size() == 2) {
    rows.push_back(
        marked(tokenizer.encode(text_in(files[0])), tokenizer.encode(text_in(files[1])), marks));
    const auto size = static_cast<int64_t>(rows[0].size());
    if (size > length) {
      fail("{} and {}: {} bytes together, the model reads {}; shorten them", files[0].name,
           files[1].name, size, length);
    }
  } else {
    const int64_t num_marks = marks == TextMarks::kClsAndSep ? 2 : 0;
    for (const std::string_view part : text_parts(text_in(files[0]), length - num_marks)) {
      rows.push_back(marked(tokenizer.encode(part), {}, marks));
    }
  }
  const TokenBatch batch = pad_or_crop(rows, length, kPad);
  return {{"ids", batch.ids}, {"mask", batch.mask}};
}

TokenBatch text_rows(const std::map<std::string, Tensor>& example, at::Device device) {
  const Tensor &ids = example.at("ids"), &mask = example.at("mask");
  const int64_t used = mask.sum(1).max().item<int64_t>();
  return {ids.narrow(1, 0, used).to(device), mask.narrow(1, 0, used).to(device)};
}

}  // namespace perceiver
