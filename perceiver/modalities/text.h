// Text to elements of an array (paper, Sec. 4.1 and App. F): bytes or SentencePiece as ids, and
// the input array of their embeddings and learned positions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/modalities/utf8.h"
#include "perceiver/model/summary.h"
#include "perceiver/nn/array.h"
#include "perceiver/nn/layers.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace perceiver {

using Ids = std::vector<int64_t>;

// The ids that stand for no text.
struct SpecialIds {
  int64_t pad, mask, cls, sep;
};

// UTF-8 bytes behind six special ids, as released (the paper speaks of four).
struct ByteTokenizer {
  static constexpr int64_t kPad = 0, kBos = 1, kEos = 2, kMask = 3, kCls = 4, kSep = 5;
  static constexpr int64_t kNumSpecial = 6;
  static constexpr int64_t kVocabularySize = kNumSpecial + 256;

  Ids encode(std::string_view text) const;

  // Special ids are dropped; bytes that are not UTF-8 become U+FFFD.
  std::string decode(std::span<const int64_t> ids) const;

  int64_t vocabulary_size() const { return kVocabularySize; }
  SpecialIds special() const { return {kPad, kMask, kCls, kSep}; }
};

// A SentencePiece model: a unit is a piece of a word. Needs a build with the library.
class SentencePieceTokenizer {
 public:
  // The file must have pieces for padding ("<pad>" or "[PAD]"), "[MASK]", "[CLS]" and "[SEP]".
  explicit SentencePieceTokenizer(const File& model);

  Ids encode(std::string_view text) const;
  std::string decode(std::span<const int64_t> ids) const;  // special ids are dropped

  std::string piece(int64_t id) const;  // id in [0, vocabulary size)
  bool is_text(int64_t id) const;  // not a special piece, nor the unknown one, nor a single byte
  std::optional<int64_t> id_of(const std::string& piece) const;  // nothing when there is no such

  int64_t vocabulary_size() const;
  SpecialIds special() const { return special_; }

 private:
  void check_id(int64_t id) const;

  std::string name_;
  std::shared_ptr<sentencepiece::SentencePieceProcessor> processor_;
  SpecialIds special_;
};

// [CLS] a [SEP], and with a second text [CLS] a [SEP] b [SEP]: Hugging Face's tokenizers do this,
// DeepMind's code leaves the ids alone.
Ids wrap(const SpecialIds& special, const Ids& a, const std::optional<Ids>& b = {});

// Texts of one length: ids [B, M] int64, mask [B, M] bool, true where there is a token.
struct TokenBatch {
  Tensor ids, mask;
};
TokenBatch pad_or_crop(const std::vector<Ids>& texts, int64_t length, int64_t pad_id);

class TextInputImpl : public torch::nn::Module {
 public:
  // Tokens start as haiku's embeddings do, where a model has no other rule.
  TextInputImpl(int64_t vocabulary_size, int64_t num_inputs, int64_t channels,
                Init token_init = truncated_normal(1.0));

  // ids [B, m] -> [B, m, C]: embedding + position. Ids on the CPU are checked, and go to the
  // model's device from there; those on a GPU are trusted. Vectors `before` [B, p, C] stand in
  // front of the text and take the first positions: -> [B, p + m, C]. p + m is at most M.
  Array forward(const Tensor& ids, const Tensor& before = {});

  const Tensor& token_weight() const { return token_->weight; }  // [vocabulary, C]: tied logits
  std::vector<Part> parts() const;

 private:
  void check(const Tensor& ids, int64_t length) const;

  Embedding token_{nullptr}, position_{nullptr};
};
TORCH_MODULE(TextInput);

}  // namespace perceiver
