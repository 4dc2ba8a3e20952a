// GLUE's examples as a model reads them: of one task, or of several by turns.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/data/dataset.h"
#include "perceiver/modalities/masking_tokenizer.h"
#include "perceiver/tasks/glue/rows.h"
#include "perceiver/tasks/split.h"

namespace perceiver {

// How often each of several tasks is trained on; the paper does not say.
enum class GlueSampling {
  kProportional,  // as often as it has examples: an epoch is every example once
  kSquareRoot,    // by the root of their number: small tasks are seen more often
  kEqual,         // each as often as the others
};
constexpr std::array<std::string_view, 3> enum_words(GlueSampling) {
  return {"proportional", "square_root", "equal"};
}

struct GlueDataConfig {
  std::vector<std::string> train = {}, held_out = {};
  double held_out_share = 0.1;
  GlueSampling sampling = GlueSampling::kSquareRoot;
  std::string tokenizer = "bytes";
};

template <typename Visitor>
void fields(Visitor& visit, GlueDataConfig& c) {
  visit({"train", "GLUE's folder, with one for each task"}, c.train);
  visit({"held_out", "The same, to measure on; empty: that of train"}, c.held_out);
  visit({"held_out_share",
         "Share of a task's training examples that is measured on where it has no dev file, spread "
         "over the file"},
        c.held_out_share, between(0.0, 1.0));
  visit({"sampling",
         "How often each of several tasks is trained on: as often as it has examples, by the root "
         "of their number, or each as often as the others"},
        c.sampling);
  visit({"tokenizer",
         "bytes, or the file of a SentencePiece model ('perceiver data sentencepiece' makes one)"},
        c.tokenizer);
}

// The examples of one task that are trained on, or those that are measured: of dev files, else the
// held-out share of the training file, spread over it. MNLI's mismatched ones are `second`.
struct GlueSplit {
  std::vector<GlueRow> rows, second;
};
GlueSplit glue_split(const GlueDataConfig& config, const GlueBenchmark& benchmark, Split split,
                     Unreadable unreadable = Unreadable::kStop);

// Examples: ids [m], task [] (by number), target [] (the class's number or the value), second []
// (true: of MNLI's mismatched). Two texts have [SEP] between them; what is longer than the model
// reads is cropped, the longer text first. In a batch m is the longest, rounded up a little, and
// mask [B, m] is true where there is a token.
class GlueDataset : public Dataset {
 public:
  // `splits` by task. Measured examples are taken `kProportional`ly: each once.
  GlueDataset(std::vector<GlueSplit> splits, const MaskingTokenizer& tokenizer, int64_t max_length,
              GlueSampling sampling);

  int64_t size() const override { return ends_.back(); }
  Example get(int64_t index, Rng& rng) const override;
  Example batch(const std::vector<Example>& examples, Rng& rng) const override;

 private:
  const MaskingTokenizer& tokenizer_;
  std::vector<GlueSplit> splits_;
  int64_t max_length_;
  bool every_row_once_;
  std::vector<int64_t> ends_;  // of each task's share of an epoch
};

}  // namespace perceiver
