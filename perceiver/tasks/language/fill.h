// Filling in missing words with a masked language model (paper, Sec. 4.1).
//
// Every length of word that is tried is a text of its own, masked from the space before the word
// on (the DeepMind colab found that better by far: the space belongs to the word), and only the
// masked positions are decoded. A word's probability is that of its length, times that of each of
// its tokens: a mean over the tokens would favour short words. Of a byte model with a list of words
// (word_list.h) only these count, and their probabilities add up to 1. Where the letters are told
// one after another (letters.h) the probability is the word's own, and is left as it is.
#pragma once

#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/language/words.h"

namespace perceiver {

// What fill() asks of a model.
struct MaskedModel {
  int64_t num_inputs;  // the longest text
  // texts [B, m], positions [B, O] -> log-probabilities [B, O, vocabulary], float, on the CPU
  std::function<Tensor(const TokenBatch& texts, const Tensor& positions)> log_probabilities;
  FillOrder order = FillOrder::kAtOnce;
};

MaskedModel masked_model(LanguageImpl& model);

struct FillOptions {
  int64_t top = 5;                        // words for each mask
  std::optional<int64_t> num_bytes = {};  // of every word, without the space before it
  std::optional<FillOrder> order = {};    // of a word's letters; not set: the model's
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

// Fails where no text can be filled so.
void check_options(const FillOptions& options, const WordTokens& tokens, const MaskedModel& model);

// A [MASK] (masks.h) is a word. Several are filled one at a time, the surest first, and the model
// reads the text again with it in place; words not filled yet stand there as masks of a typical
// length. Of a text longer than the model's, each mask gets what surrounds it.
FilledText fill(std::string_view text, const WordTokens& tokens, const MaskedModel& model,
                const FillOptions& options = {});

// Tokens of the best word for each [MASK] of a user's text, the space before it not counted; none
// of a pair of texts.
std::vector<int64_t> lengths_of_missing_words(LanguageImpl& model, const Tokenizer& tokenizer,
                                              std::span<const File> files);

// How many texts fill() has the model encode, at most.
int64_t num_passes(std::string_view text, const WordTokens& tokens, const FillOptions& options,
                   FillOrder order = FillOrder::kAtOnce);

}  // namespace perceiver
