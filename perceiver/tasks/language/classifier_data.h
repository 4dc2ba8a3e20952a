// A user's labelled texts as a classifier reads them.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/data/dataset.h"
#include "perceiver/modalities/masking_tokenizer.h"
#include "perceiver/tasks/language/labelled_texts.h"
#include "perceiver/tasks/split.h"

namespace perceiver {

struct TextClassifierDataConfig {
  std::vector<std::string> train = {}, held_out = {};
  double held_out_share = 0.1;
  TextColumns columns = {};
  std::string tokenizer = "bytes";
};

// All in one table: [data].
template <typename Visitor>
void fields(Visitor& visit, TextClassifierDataConfig& c) {
  visit({"train",
         "Files of labelled texts (.csv, .tsv, .jsonl), or folders with a file train and maybe dev "
         "or val"},
        c.train);
  visit({"held_out",
         "The same, to measure on, of folders the file dev, val or test; empty: dev or val of "
         "train's folders, else a share of train"},
        c.held_out);
  visit({"held_out_share",
         "Share of the training texts that is measured on where there are no others, spread over "
         "the files"},
        c.held_out_share, between(0.0, 1.0));
  visit({"text_column", "The column, or key, that has the text"}, c.columns.text);
  visit({"pair_column",
         "The column, or key, of a second text, which is read with the first as a pair; not set: "
         "text_b where there is one"},
        c.columns.pair);
  visit({"label_column", "The column, or key, that has the class"}, c.columns.label);
  visit({"tokenizer",
         "bytes, or the file of a SentencePiece model ('perceiver data sentencepiece' makes one)"},
        c.tokenizer);
}

// The texts that are trained on, or those that are measured: of files of their own, else a share
// of the training texts. None: there is nothing to measure on.
std::vector<LabelledText> labelled_split(const TextClassifierDataConfig& config, Split split,
                                         Unreadable unreadable = Unreadable::kStop);

// Names of the classes by number: `known` where the model has names already; else those in the
// training texts, or where there are none the measured ones, in the order of the alphabet or, if
// all are numbers, of these. Fails where there are not `num_classes`.
std::vector<std::string> text_classes(const TextClassifierDataConfig& config, int64_t num_classes,
                                      const std::vector<std::string>& known,
                                      Unreadable unreadable = Unreadable::kStop);

// Examples: ids [m] of [CLS] text [SEP] or [CLS] text [SEP] pair [SEP], label []. What is longer
// than the model reads is cropped, the longer text first. In a batch m is the longest, rounded up
// a little, and mask [B, m] is true where there is a token.
class LabelledTextDataset : public Dataset {
 public:
  // A label that is none of `classes` is an Error, or, to be skipped, its example's.
  LabelledTextDataset(std::vector<LabelledText> texts, const std::vector<std::string>& classes,
                      const MaskingTokenizer& tokenizer, int64_t max_length,
                      Unreadable unreadable = Unreadable::kStop);

  int64_t size() const override { return std::ssize(texts_); }
  Example get(int64_t index, Rng& rng) const override;
  Example batch(const std::vector<Example>& examples, Rng& rng) const override;

 private:
  const MaskingTokenizer& tokenizer_;
  std::vector<LabelledText> texts_;
  std::vector<int64_t> labels_;  // of each
  int64_t max_length_;
};

}  // namespace perceiver
