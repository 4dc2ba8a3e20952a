// What turns a user's text into a model's ids: bytes, or the SentencePiece model in its folder.
#pragma once

#include <filesystem>
#include <variant>

#include "perceiver/modalities/text.h"

namespace perceiver {

using Tokenizer = std::variant<ByteTokenizer, SentencePieceTokenizer>;

inline bool is_of_bytes(const Tokenizer& tokenizer) {
  return std::holds_alternative<ByteTokenizer>(tokenizer);
}
Ids token_ids(const Tokenizer& tokenizer, std::string_view text);
SpecialIds special_ids(const Tokenizer& tokenizer);

// Whether a word begins with this piece: it has the space before it.
bool begins_word(const SentencePieceTokenizer& tokenizer, int64_t id);

// A token as a person reads it: a byte, or a piece with its space; special ones as "[CLS]", and
// the mask of a byte as "_".
std::string shown_token(const Tokenizer& tokenizer, int64_t id);

// The tokenizer of a model, looked for once, when the model is loaded or made. That there is none
// matters to those who read texts.
class ModelTokenizer {
 public:
  // By the size of the model's vocabulary. Other than bytes need a file; `named` is the one that
  // [data] of its config names, or "bytes".
  explicit ModelTokenizer(int64_t vocabulary_size, std::string named = "bytes");

  // Takes spiece.model, tokenizer.model or sentencepiece.model of the model's folder, else the file
  // that was named. `source` is the model, for messages.
  void find(const std::filesystem::path& folder, const std::string& source);

  const Tokenizer& get() const;  // fails where there is none that fits, and says what was missing
  const std::filesystem::path& file() const { return file_; }  // empty: bytes, or none

 private:
  void load(const std::filesystem::path& folder, const std::string& source);

  int64_t vocabulary_size_;
  std::string named_;
  std::filesystem::path file_;
  Tokenizer tokenizer_;
  std::string missing_;  // what get() says; empty: there is one
};

}  // namespace perceiver
