// Texts for masked language modelling (paper, App. F.2): documents packed, cropped, and whole words
// masked.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/data/dataset.h"
#include "perceiver/data/documents.h"
#include "perceiver/modalities/masking_tokenizer.h"

namespace perceiver {

struct LanguageDataConfig {
  std::vector<std::string> train = {};
  std::vector<std::string> held_out = {};
  double held_out_share = 0.01;
  DocumentUnit document = DocumentUnit::kLine;
  int64_t documents_per_example = 10;
  double mask_probability = 0.15;
  // Of examples trained on, cut to any length: who only ever saw full texts reads short ones badly.
  double shorter_share = 0.0;
  std::string tokenizer = "bytes";
};

template <typename Visitor>
void fields(Visitor& visit, LanguageDataConfig& c) {
  visit({"train", "Files and folders of .txt and .jsonl to train on"}, c.train);
  visit({"held_out", "Files and folders to measure on; empty: a share of train"}, c.held_out);
  visit({"held_out_share",
         "Share of train's documents, the last ones, that is measured on and not trained on"},
        c.held_out_share, between(0.0, 1.0));
  visit({"document", "What a document is in a .txt file"}, c.document);
  visit({"documents_per_example", "Documents that are joined before an example is cut from them"},
        c.documents_per_example, at_least(1));
  visit({"mask_probability", "Share of words that are masked"}, c.mask_probability,
        between(0.0, 1.0));
  visit({"shorter_share",
         "Share of training examples cut to any length, so that short texts are learnt too"},
        c.shorter_share, between(0.0, 1.0));
  visit({"tokenizer",
         "bytes, or the file of a SentencePiece model ('perceiver data sentencepiece' makes one)"},
        c.tokenizer);
}

// Bytes can be cut anywhere, as the paper's crops are; half a word has other pieces than a whole.
WindowEdge window_edge(const MaskingTokenizer& tokenizer);

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
