// The latents of a text, and the tokens of any of its words asked of them (paper, Sec. 4.1).
#pragma once

#include "perceiver/modalities/tokenizer.h"
#include "perceiver/tasks/language/model.h"

namespace perceiver {

// Where a token of a text is: texts longer than the model's have several rows.
struct TokenAt {
  int64_t row, position;
};

struct PlacedWord {
  std::string text;  // "[MASK]" where tokens of it are masked
  Ids ids;
  std::vector<TokenAt> places;  // of these
  bool is_missing = false;
};

// The words of a text, ids [rows, m]: of bytes what stands between white space; of pieces what
// begins with one that has a space, or with a mask.
std::vector<PlacedWord> words_of(const Tensor& ids, const Tokenizer& tokenizer);

// latents [rows, N, D], P places -> log-probabilities [P, vocabulary], float, on the CPU. Only
// these are decoded.
Tensor log_probabilities_at(LanguageImpl& model, const Tensor& latents,
                            std::span<const TokenAt> places);

}  // namespace perceiver
