// The latents of a text, and the bytes of any of its words asked of them (paper, Sec. 4.1).
#pragma once

#include <algorithm>

#include "perceiver/tasks/language/model.h"

namespace perceiver {

// Where a byte of a text is: texts longer than the model's have several rows.
struct BytePlace {
  int64_t row, position;
};

struct PlacedWord {
  std::string text;  // "[MASK]" where letters of it are masked
  Ids ids;           // of its bytes
  std::vector<BytePlace> bytes;

  bool is_missing() const { return std::ranges::find(ids, ByteTokenizer::kMask) != ids.end(); }
};

// The words of a text of bytes, ids [rows, m]: what stands between white space.
std::vector<PlacedWord> words_of(const Tensor& ids);

// latents [rows, N, D], P places -> log-probabilities [P, vocabulary], float, on the CPU. Only
// these are decoded.
Tensor log_probabilities_at(LanguageImpl& model, const Tensor& latents,
                            std::span<const BytePlace> places);

}  // namespace perceiver
