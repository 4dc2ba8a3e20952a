#include "perceiver/modalities/masking_tokenizer.h"

#include <filesystem>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

bool is_space(int64_t byte_id) {
  const int64_t byte = byte_id - ByteTokenizer::kNumSpecial;
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

std::vector<std::pair<int64_t, int64_t>> words_of_bytes(const Ids& ids) {
  std::vector<std::pair<int64_t, int64_t>> words;
  const auto size = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < size;) {
    if (is_space(ids[begin])) {
      ++begin;
      continue;
    }
    int64_t end = begin + 1;
    while (end < size && !is_space(ids[end])) ++end;
    words.emplace_back(begin > 0 ? begin - 1 : 0, end);
    begin = end;
  }
  return words;
}

}  // namespace

MaskingTokenizer::MaskingTokenizer(const std::string& tokenizer) {
  if (tokenizer != "bytes") tokenizer_ = SentencePieceTokenizer(read_file(tokenizer));
}

Ids MaskingTokenizer::encode(std::string_view text) const { return token_ids(tokenizer_, text); }

int64_t MaskingTokenizer::vocabulary_size() const {
  return std::visit([](const auto& t) { return t.vocabulary_size(); }, tokenizer_);
}

SpecialIds MaskingTokenizer::special() const { return special_ids(tokenizer_); }

int64_t MaskingTokenizer::usual_bytes(int64_t tokens) const {
  constexpr int64_t kBytesPerPiece = 4;
  return is_of_bytes() ? tokens : kBytesPerPiece * tokens;
}

int64_t MaskingTokenizer::most_bytes(int64_t tokens) const {
  constexpr int64_t kLongerInARow = 4;
  return is_of_bytes() ? tokens : kLongerInARow * usual_bytes(tokens);
}

int64_t MaskingTokenizer::bytes(int64_t id) const {
  const auto* pieces = std::get_if<SentencePieceTokenizer>(&tokenizer_);
  if (pieces == nullptr) return 1;
  const std::string piece = pieces->piece(id);
  const auto size = static_cast<int64_t>(piece.size());
  // Its sign for a space is three bytes long, the space is one.
  return begins_word(*pieces, id) ? size - 2 : size;
}

std::vector<std::pair<int64_t, int64_t>> MaskingTokenizer::words(const Ids& ids) const {
  const auto* pieces = std::get_if<SentencePieceTokenizer>(&tokenizer_);
  if (pieces == nullptr) return words_of_bytes(ids);
  std::vector<std::pair<int64_t, int64_t>> words;
  for (int64_t i = 0; i < static_cast<int64_t>(ids.size()); ++i) {
    if (words.empty() || begins_word(*pieces, ids[i])) words.emplace_back(i, i);
    words.back().second = i + 1;
  }
  return words;
}

void check_tokenizer_file(const std::string& tokenizer) {
  if (tokenizer == "bytes" || std::filesystem::exists(tokenizer)) return;
  fail(
      "data.tokenizer: there is no file '{}'; 'perceiver data sentencepiece TEXTS -o {}' makes one "
      "of your texts",
      tokenizer, tokenizer);
}

void check_vocabulary(const std::string& tokenizer, int64_t num_ids, int64_t vocabulary_size) {
  const bool bytes = tokenizer == "bytes";
  const bool enough = bytes ? num_ids == vocabulary_size : 10 * num_ids >= 9 * vocabulary_size;
  if (enough && num_ids <= vocabulary_size) return;
  fail(
      "data.tokenizer: '{}' has {} ids, expected {} as model.vocabulary_size says; name {}, or set "
      "model.vocabulary_size={}",
      tokenizer, num_ids, vocabulary_size,
      bytes ? "the model's SentencePiece file" : "the model's own tokenizer", num_ids);
}

MaskingTokenizer checked_tokenizer(const std::string& tokenizer, int64_t vocabulary_size) {
  check_tokenizer_file(tokenizer);
  MaskingTokenizer made(tokenizer);
  check_vocabulary(tokenizer, made.vocabulary_size(), vocabulary_size);
  return made;
}

}  // namespace perceiver
