// The likeliest words for a span of masked tokens (paper, Sec. 4.1): what a model says of each
// token on its own, put together to words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "perceiver/modalities/tokenizer.h"
#include "perceiver/tasks/language/word_list.h"

namespace perceiver {

struct Word {
  std::string text;
  double log_probability;  // a space before it is given, and not counted
};

// What a token may stand beside in a word.
struct TokenPlace {
  std::span<const int64_t> before;  // in the same word
  int64_t num_after;                // tokens of the word that are still to come
  bool after_space;                 // whether the word is: then the space belongs to it
  bool any_marks;                   // whether it may begin or end with a comma, say
};

// How a model's tokens make words. What a user means by a word holds no space and no control
// character, and neither begins nor ends with a punctuation mark, whatever else it holds: "isn't",
// "3,000", "Île-de-France".
struct WordTokens {
  SpecialIds special;
  bool are_bytes;   // then the space before a word is a token; pieces carry theirs themselves
  int64_t longest;  // span that is tried, in tokens
  int64_t typical;  // span that stands for a word nobody knows yet

  // Text as tokens. `glued`: it goes on after a masked word, without a space.
  std::function<Ids(std::string_view text, bool glued)> encode;
  std::function<bool(int64_t id, const TokenPlace& place)> fits;
  std::function<std::string(std::span<const int64_t> ids)> text;  // of a word, without the space
  std::function<bool(int64_t id)> begins_character;  // whether a text may be cut before it

  WordList known = {};  // words of bytes that are tried where a whole word is missing; empty: any
};

WordTokens word_tokens(const Tokenizer& tokenizer);

// How likely a word is to have so many tokens, the space before it not counted.
double log_share_of_length(const WordTokens& tokens, int64_t length);

// log_probabilities [tokens, vocabulary], float, on the CPU -> the best `top` words of so many
// tokens, given that it has so many, the best first; fewer where the tokens make fewer. With
// `any_marks`, marks at their ends are part of them.
std::vector<Word> likeliest_words(const Tensor& log_probabilities, const WordTokens& tokens,
                                  bool after_space, int64_t top, bool any_marks = false);

}  // namespace perceiver
