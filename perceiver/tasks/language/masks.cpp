#include "perceiver/tasks/language/masks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "perceiver/modalities/text_file.h"

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

// A text in which letters stand for the missing words, and which bytes these are.
struct SpelledOut {
  std::string text;
  std::vector<uint8_t> masked;
};

class Speller {
 public:
  explicit Speller(std::span<const int64_t> letters) : letters_(letters) {}

  SpelledOut operator()(std::string_view text) {
    SpelledOut out;
    for (const std::string_view run : split_at_masks(text)) {
      if (run.data() != text.data()) add(out, std::string(next_length(), 'x'), true);
      add(out, run, false);
    }
    return out;
  }

 private:
  int64_t next_length() {
    if (letters_.empty()) return kTypicalLetters;
    const int64_t length = letters_.front();
    letters_ = letters_.subspan(1);
    return length;
  }

  static void add(SpelledOut& out, std::string_view text, bool masked) {
    out.text += text;
    out.masked.resize(out.text.size(), masked);
  }

  std::span<const int64_t> letters_;
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

Example read_masked_bytes(std::span<const File> files, int64_t vocabulary_size, int64_t length,
                          std::span<const int64_t> letters) {
  Speller spell(letters);
  std::vector<File> spelled;
  std::vector<uint8_t> masked;  // of all tokens, one file after another
  for (const File& file : files) {
    const SpelledOut out = spell(text_in(file));
    if (!spelled.empty()) masked.push_back(false);  // what stands between two texts
    masked.insert(masked.end(), out.masked.begin(), out.masked.end());
    spelled.push_back({file.name, out.text + '\n'});
  }
  Example rows = read_bytes(spelled, vocabulary_size, length);
  const Tensor tokens = rows.at("ids").masked_select(rows.at("mask"));
  const Tensor hidden = at::tensor(at::ArrayRef<uint8_t>(masked)).to(at::kBool);
  rows.at("ids").masked_scatter_(rows.at("mask"), tokens.masked_fill(hidden, ByteTokenizer::kMask));
  return rows;
}

Tensor with_masked_spaces(const Tensor& ids) {
  const Tensor masked = ids.eq(ByteTokenizer::kMask);
  const Tensor before = at::constant_pad_nd(masked.slice(1, 1), {0, 1});
  return ids.masked_fill(before.logical_and(ids.eq(kSpace)), ByteTokenizer::kMask);
}

}  // namespace perceiver
