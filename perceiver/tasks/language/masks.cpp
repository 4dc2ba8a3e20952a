#include "perceiver/tasks/language/masks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/language/words.h"

namespace perceiver {
namespace {

constexpr std::array<std::string_view, 2> kSpellings = {kMissingWord, "<mask>"};
constexpr int64_t kSpace = ByteTokenizer::kNumSpecial + ' ';

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::ranges::equal(
             text.substr(0, word.size()), word, {}, [](unsigned char c) { return std::tolower(c); },
             [](unsigned char c) { return std::tolower(c); });
}

// Bytes of the mask that a text begins with; 0: it begins with none.
size_t mask_size(std::string_view text) {
  const auto found = std::ranges::find_if(
      kSpellings, [&](std::string_view spelling) { return begins_with(text, spelling); });
  return found == kSpellings.end() ? 0 : found->size();
}

// The ids of texts with masks for their missing words.
class MaskedIds {
 public:
  MaskedIds(const Tokenizer& tokenizer, std::span<const int64_t> lengths)
      : words_(word_tokens(tokenizer)), lengths_(lengths) {}

  Ids operator()(std::string_view text) {
    Ids ids;
    for (const std::string_view run : split_at_masks(text)) {
      const bool first = run.data() == text.data();
      if (!first) ids.insert(ids.end(), next_length(), words_.special.mask);
      const bool glued = !first && !run.empty() && !std::isspace(run.front() & 0xFF);
      const Ids more = words_.encode(run, glued);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  }

 private:
  int64_t next_length() {
    if (lengths_.empty()) return words_.are_bytes ? kTypicalLetters : kTypicalPieces;
    const int64_t length = lengths_.front();
    lengths_ = lengths_.subspan(1);
    return length;
  }

  WordTokens words_;
  std::span<const int64_t> lengths_;
};

}  // namespace

std::vector<std::string_view> split_at_masks(std::string_view text) {
  std::vector<std::string_view> runs;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = mask_size(text.substr(at));
    if (size > 0) {
      runs.push_back(text.substr(begin, at - begin));
      begin = at + size;
    }
    at += std::max<size_t>(size, 1);
  }
  runs.push_back(text.substr(begin));
  return runs;
}

Example read_masked_texts(std::span<const File> files, const Tokenizer& tokenizer, int64_t length,
                          std::span<const int64_t> tokens) {
  MaskedIds masked(tokenizer, tokens);
  std::vector<Ids> texts;
  for (const File& file : files) texts.push_back(masked(text_in(file)));
  return rows_of_texts(files, texts, tokenizer, length);
}

Tensor with_masked_spaces(const Tensor& ids) {
  const Tensor masked = ids.eq(ByteTokenizer::kMask);
  const Tensor before = at::constant_pad_nd(masked.slice(1, 1), {0, 1});
  return ids.masked_fill(before.logical_and(ids.eq(kSpace)), ByteTokenizer::kMask);
}

}  // namespace perceiver
