// The tokenizer that a config of a model of text names, for training and measuring.
#pragma once

#include "perceiver/modalities/tokenizer.h"

namespace perceiver {

// Bytes or SentencePiece, and where words begin in either.
class MaskingTokenizer {
 public:
  explicit MaskingTokenizer(const std::string& tokenizer);  // "bytes" or a file

  Ids encode(std::string_view text) const;
  int64_t vocabulary_size() const;
  SpecialIds special() const;
  int64_t usual_bytes(int64_t tokens) const;  // of text that so many tokens stand for
  int64_t most_bytes(int64_t tokens) const;   // that so many may need
  int64_t bytes(int64_t id) const;            // of text that the id stands for
  bool is_of_bytes() const { return perceiver::is_of_bytes(tokenizer_); }

  // [begin, end) of each whitespace-delimited word. The space before a word belongs to it, as in
  // DeepMind's examples; further spaces belong to none.
  std::vector<std::pair<int64_t, int64_t>> words(const Ids& ids) const;

 private:
  Tokenizer tokenizer_;
};

// Fails where the tokenizer of [data] is a file that is not there, and says how one is made.
void check_tokenizer_file(const std::string& tokenizer);

// Fails unless the tokenizer of [data], which has `num_ids`, is one that a model of this vocabulary
// is for: bytes fill the vocabulary, pieces nine tenths of it at least. A model on other ids than
// its own would train without a word.
void check_vocabulary(const std::string& tokenizer, int64_t num_ids, int64_t vocabulary_size);

// The tokenizer of [data], after both checks.
MaskingTokenizer checked_tokenizer(const std::string& tokenizer, int64_t vocabulary_size);

}  // namespace perceiver
