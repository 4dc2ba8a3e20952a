#include "perceiver/tasks/language/words.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

#include "perceiver/tasks/language/masks.h"

namespace perceiver {
namespace {

constexpr int64_t kLongestBytes = 16, kLongestPieces = 8;
constexpr int64_t kTypicalBytes = 1 + kTypicalLetters, kTypicalPieces = 1;
constexpr int64_t kSpace = ByteTokenizer::kNumSpecial + ' ';
constexpr std::string_view kPieceSpace = "\u2581";  // what SentencePiece writes for a space

std::string bytes_of(std::span<const int64_t> ids) {
  std::string bytes;
  for (const int64_t id : ids) bytes.push_back(static_cast<char>(id - ByteTokenizer::kNumSpecial));
  return bytes;
}

bool is_mark(int64_t byte) { return byte < 0x80 && std::ispunct(static_cast<int>(byte)) != 0; }

bool byte_fits(int64_t id, const TokenPlace& place) {
  if (place.before.empty() && place.after_space) return id == kSpace && place.num_after > 0;
  const int64_t byte = id - ByteTokenizer::kNumSpecial;
  if (byte <= ' ' || byte == 0x7F) return false;
  const bool first = place.before.size() == (place.after_space ? 1 : 0);
  if (!place.any_marks && (first || place.num_after == 0) && is_mark(byte)) return false;
  // Letters may be told in any order; what comes of them is looked at when the word is whole.
  if (std::ranges::find(place.before, int64_t{ByteTokenizer::kMask}) != place.before.end()) {
    return true;
  }
  std::string word = bytes_of(place.before);
  word.push_back(static_cast<char>(byte));
  const std::optional<int64_t> missing = missing_utf8_bytes(word);
  return missing && *missing <= place.num_after;
}

WordTokens byte_words(const ByteTokenizer& tokenizer) {
  return {.special = tokenizer.special(),
          .are_bytes = true,
          .longest = kLongestBytes,
          .typical = kTypicalBytes,
          .encode = [=](std::string_view text, bool) { return tokenizer.encode(text); },
          .fits = byte_fits,
          .text =
              [](std::span<const int64_t> ids) {
                return bytes_of(ids.front() == kSpace ? ids.subspan(1) : ids);
              },
          .begins_character =
              [](int64_t id) {
                const int64_t byte = id - ByteTokenizer::kNumSpecial;
                return byte < 0x80 || byte > 0xBF;
              }};
}

// A text alone gets a space before it; one that goes on after a word must lose it again.
Ids encode_pieces(const SentencePieceTokenizer& tokenizer, std::string_view text, bool glued) {
  Ids ids = tokenizer.encode(text);
  if (!glued || ids.empty()) return ids;
  const std::string first = tokenizer.piece(ids.front());
  if (!first.starts_with(kPieceSpace)) return ids;
  const std::string rest = first.substr(kPieceSpace.size());
  if (rest.empty()) {
    ids.erase(ids.begin());
  } else if (const std::optional<int64_t> id = tokenizer.id_of(rest)) {
    ids.front() = *id;
  }
  return ids;
}

// The pieces of the vocabulary; empty where one stands for no text.
std::vector<std::string> pieces_of(const SentencePieceTokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    pieces.push_back(tokenizer.is_text(id) ? tokenizer.piece(id) : "");
  }
  return pieces;
}

bool piece_fits(const std::string& piece, const TokenPlace& place) {
  const bool spaced = piece.starts_with(kPieceSpace);
  const std::string_view letters = std::string_view(piece).substr(spaced ? kPieceSpace.size() : 0);
  if (piece.empty() || letters.find(kPieceSpace) != letters.npos) return false;
  if (spaced != (place.before.empty() && place.after_space)) return false;
  if (letters.empty()) return place.num_after > 0;
  if (place.any_marks) return true;
  return !(place.before.empty() && is_mark(letters.front() & 0xFF)) &&
         !(place.num_after == 0 && is_mark(letters.back() & 0xFF));
}

WordTokens piece_words(const SentencePieceTokenizer& tokenizer) {
  return {.special = tokenizer.special(),
          .are_bytes = false,
          .longest = kLongestPieces,
          .typical = kTypicalPieces,
          .encode = [=](std::string_view text,
                        bool glued) { return encode_pieces(tokenizer, text, glued); },
          .fits =
              [pieces = pieces_of(tokenizer)](int64_t id, const TokenPlace& place) {
                return id < static_cast<int64_t>(pieces.size()) && piece_fits(pieces[id], place);
              },
          .text = [=](std::span<const int64_t> ids) { return tokenizer.decode(ids); },
          .begins_character = [](int64_t) { return true; }};
}

// Shares of the words of running English by their bytes, from 1 to 15: 85 novels of 1840 to 1919.
constexpr std::array kShareOfBytes = {0.037, 0.175, 0.238, 0.185, 0.110,  0.082,  0.066, 0.043,
                                      0.029, 0.018, 0.009, 0.005, 0.0026, 0.0010, 0.0004};
constexpr double kShareOfLonger = 0.0002;

struct Beam {
  Ids ids;
  double sum;  // of log-probabilities
};

struct Step {
  const Beam* beam;
  int64_t id;
  double sum;
};

}  // namespace

WordTokens word_tokens(const Tokenizer& tokenizer) {
  if (const auto* bytes = std::get_if<ByteTokenizer>(&tokenizer)) return byte_words(*bytes);
  return piece_words(std::get<SentencePieceTokenizer>(tokenizer));
}

double log_share_of_length(const WordTokens& tokens, int64_t length) {
  if (!tokens.are_bytes) return -std::log(static_cast<double>(kLongestPieces));
  const bool in_table = length <= std::ssize(kShareOfBytes);
  return std::log(in_table ? kShareOfBytes[length - 1] : kShareOfLonger);
}

std::vector<Word> likeliest_words(const Tensor& log_probabilities, const WordTokens& tokens,
                                  bool after_space, int64_t top, bool any_marks) {
  // Tokens are independent of each other, given the text: the best `top` beginnings would lead to
  // the best words, did not one byte of a character ask for others.
  const size_t width = 4 * top;
  const int64_t length = log_probabilities.size(0), given = tokens.are_bytes && after_space ? 1 : 0;
  const auto [values, order] = log_probabilities.contiguous().sort(-1, /*descending=*/true);
  const auto value = values.accessor<float, 2>();
  const auto id = order.accessor<int64_t, 2>();
  std::vector<Beam> beams = {{}};
  for (int64_t i = 0; i < length; ++i) {
    std::vector<Step> steps;
    for (const Beam& beam : beams) {
      size_t taken = 0;
      for (int64_t rank = 0; rank < id.size(1) && taken < width; ++rank) {
        const TokenPlace place{beam.ids, length - 1 - i, after_space, any_marks};
        if (!tokens.fits(id[i][rank], place)) continue;
        const double counts = i < given ? 0.0 : value[i][rank];
        steps.push_back({&beam, id[i][rank], beam.sum + counts});
        ++taken;
      }
    }
    std::ranges::stable_sort(steps, std::greater(), &Step::sum);
    steps.resize(std::min(steps.size(), width));
    std::vector<Beam> longer;
    for (const Step& step : steps) {
      longer.push_back({step.beam->ids, step.sum});
      longer.back().ids.push_back(step.id);
    }
    beams = std::move(longer);
  }
  std::vector<Word> words;
  for (const Beam& beam : beams) {
    if (static_cast<int64_t>(words.size()) == top) break;
    words.push_back({tokens.text(beam.ids), beam.sum});
  }
  return words;
}

}  // namespace perceiver
