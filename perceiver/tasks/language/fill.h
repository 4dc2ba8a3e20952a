// Filling in missing words with a masked language model (paper, Sec. 4.1).
//
// Every length of word that is tried is a text of its own, masked from the space before the word
// on (the DeepMind colab found that better by far: the space belongs to the word), and only the
// masked positions are decoded. Words of all lengths are ranked by the mean log-probability of
// their tokens. That of the space is left out: no other byte may stand there, and a term that is
// always near 0 would halve what a word of one letter costs.
#pragma once

#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/language/words.h"

namespace perceiver {

inline constexpr std::string_view kMissingWord = "[MASK]";

// What fill() asks of a model.
struct MaskedModel {
  int64_t num_inputs;  // the longest text
  // texts [B, m], positions [B, O] -> log-probabilities [B, O, vocabulary], float, on the CPU
  std::function<Tensor(const TokenBatch& texts, const Tensor& positions)> log_probabilities;
};

MaskedModel masked_model(LanguageImpl& model);

struct FillOptions {
  int64_t top = 5;                        // words for each mask
  std::optional<int64_t> num_bytes = {};  // of every word, without the space before it
};

struct FilledMask {
  std::vector<Word> words;  // the best first: it stands in the text
  size_t begin;             // of it in the text, in bytes
  int64_t step;             // 1: filled first
};

struct FilledText {
  std::string text;
  std::vector<FilledMask> masks;  // as they follow each other in the text
};

// Fails where there is nothing to fill in, or too much: what fill() would complain of, before any
// work is done.
void check_masks(std::string_view text, const WordTokens& tokens, const MaskedModel& model,
                 const FillOptions& options = {});

// A [MASK] is a word. Several are filled one at a time, the surest first, and the model reads the
// text again with it in place; words not filled yet stand there as masks of a typical length. Of a
// text longer than the model's, each mask gets what surrounds it.
FilledText fill(std::string_view text, const WordTokens& tokens, const MaskedModel& model,
                const FillOptions& options = {});

// How many texts fill() has the model encode, at most.
int64_t num_passes(std::string_view text, const WordTokens& tokens, const FillOptions& options);

}  // namespace perceiver
