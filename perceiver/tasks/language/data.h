// Texts for masked language modelling (paper, App. F.2): documents packed, cropped, and whole words
// masked.
#pragma once

#include <variant>

#include "perceiver/core/config.h"
#include "perceiver/data/dataset.h"
#include "perceiver/data/documents.h"
#include "perceiver/modalities/text.h"

namespace perceiver {

struct LanguageDataConfig {
  std::vector<std::string> train = {};     // files and folders of .txt and .jsonl
  std::vector<std::string> held_out = {};  // the same; empty: a share of `train`
  double held_out_share = 0.01;            // its last documents
  DocumentUnit document = DocumentUnit::kLine;
  int64_t documents_per_example = 10;
  double mask_probability = 0.15;  // of a word
  // Of examples trained on, cut to any length: who only ever saw full texts reads short ones badly.
  double shorter_share = 0.0;
  std::string tokenizer = "bytes";  // or a SentencePiece model's file
};

template <typename Visitor>
void fields(Visitor& visit, LanguageDataConfig& c) {
  visit("train", c.train);
  visit("held_out", c.held_out);
  visit("held_out_share", c.held_out_share, between(0.0, 1.0));
  visit("document", c.document);
  visit("documents_per_example", c.documents_per_example, at_least(1));
  visit("mask_probability", c.mask_probability, between(0.0, 1.0));
  visit("shorter_share", c.shorter_share, between(0.0, 1.0));
  visit("tokenizer", c.tokenizer);
}

// Bytes or SentencePiece, and where words begin in either.
class MaskingTokenizer {
 public:
  explicit MaskingTokenizer(const std::string& tokenizer);  // "bytes" or a file

  Ids encode(std::string_view text) const;
  int64_t vocabulary_size() const;
  SpecialIds special() const;
  int64_t most_bytes(int64_t tokens) const;  // of text that so many tokens may need
  int64_t bytes(int64_t id) const;           // of text that the id stands for

  // [begin, end) of each whitespace-delimited word. The space before a word belongs to it, as in
  // DeepMind's examples; further spaces belong to none.
  std::vector<std::pair<int64_t, int64_t>> words(const Ids& ids) const;

 private:
  std::variant<ByteTokenizer, SentencePieceTokenizer> tokenizer_;
};

// Each word masked on its own with this probability, and one at least where there is one.
// -> positions of the masked ids, in order.
std::vector<int64_t> masked_positions(const MaskingTokenizer& tokenizer, const Ids& ids,
                                      double probability, Rng& rng);

// Examples: ids [M] with masks in them, mask [M] (true: there is a token), and of each masked
// position: positions [O], targets [O] (the id that was there), bytes [O] (that it stands for). In
// a batch O is the largest of its examples, rounded up a little; what is missing has the target
// kNoTarget.
constexpr int64_t kNoTarget = -100;

class MaskedTextDataset : public Dataset {
 public:
  MaskedTextDataset(Documents documents, const MaskingTokenizer& tokenizer,
                    const LanguageDataConfig& config, int64_t num_inputs);

  int64_t size() const override { return documents_.size(); }  // one begins at each document
  Example get(int64_t index, Rng& rng) const override;
  Example batch(const std::vector<Example>& examples, Rng& rng) const override;

 private:
  int64_t length_of_example(Rng& rng) const;

  Documents documents_;
  const MaskingTokenizer& tokenizer_;
  LanguageDataConfig config_;
  int64_t num_inputs_;
};

// The training documents or the held-out ones.
Documents language_documents(const LanguageDataConfig& config, bool held_out);

}  // namespace perceiver
