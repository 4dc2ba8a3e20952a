// Words told letter by letter: each letter (or piece) from the text and from those that are known
// by then, so that the product of their probabilities is the word's own, of all words of its
// length: whichever letter comes next, it follows from what is known. Found by a beam over all
// lengths at once.
#pragma once

#include "perceiver/tasks/language/fill.h"

namespace perceiver {

struct MissingWord {
  Ids before, after;               // of the text
  std::vector<int64_t> lengths;    // that are tried, in tokens, a space of bytes before it counted
  std::vector<double> log_shares;  // how likely each is
  bool after_space;                // whether it is
  bool any_marks;                  // whether it may begin or end with a comma, say
  bool known_only;                 // whether it must be in the list
  int64_t top;                     // words that are wanted
};

// The best words, the best first; less likely ones may be missing, as a beam goes. A word's
// probability is that of its length times its own.
std::vector<Word> words_by_letters(const MissingWord& missing, const WordTokens& tokens,
                                   const MaskedModel& model, FillOrder order);

// Parts of words that are kept for each length, from letter to letter.
int64_t letters_beam(int64_t top);

}  // namespace perceiver
