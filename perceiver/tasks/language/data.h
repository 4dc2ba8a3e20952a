// Texts for masked language modelling (paper, App. F.2): documents packed, cropped, and whole words
// masked.
#pragma once

#include <variant>

#include "perceiver/core/config.h"
#include "perceiver/data/corpus.h"
#include "perceiver/data/dataset.h"
#include "perceiver/data/documents.h"
#include "perceiver/modalities/masking_tokenizer.h"

namespace perceiver {

// Where the texts of data.train are while it trains.
enum class TextReading { kAuto, kMemory, kStream };
constexpr std::array<std::string_view, 3> enum_words(TextReading) {
  return {"auto", "memory", "stream"};
}

struct LanguageDataConfig {
  std::vector<std::string> train = {};
  std::vector<int64_t> weights = {};
  TextReading read = TextReading::kAuto;
  std::vector<std::string> held_out = {};
  double held_out_share = 0.01;
  DocumentUnit document = DocumentUnit::kLine;
  int64_t documents_per_example = 10;
  double mask_probability = 0.15;
  // Of examples trained on, cut to any length: who only ever saw full texts reads short ones badly.
  double shorter_share = 0.0;
  // Of masked words, those of which some letters are shown: who never saw half a word cannot tell
  // its other half.
  double parts_shown = 0.0;
  std::string tokenizer = "bytes";
};

template <typename Visitor>
void fields(Visitor& visit, LanguageDataConfig& c) {
  visit({"train", "Files and folders of .txt, .jsonl and .json, plain or .gz, to train on"},
        c.train);
  visit({"weights",
         "How often each path of train is read, by tokens, as 70 and 30; empty: by its size"},
        c.weights, between(1, 1000));
  visit({"read",
         "Texts of train in memory, any document at any time, or as a stream of bounded memory; "
         "auto: a stream where there are weights, .gz files or more than 1 GiB"},
        c.read);
  visit({"held_out", "Files and folders to measure on; empty: a share of train"}, c.held_out);
  visit({"held_out_share",
         "Share of train's documents, the last ones, that is measured on and not trained on; of a "
         "stream, the first lines of each source, 4 MiB at most"},
        c.held_out_share, between(0.0, 1.0));
  visit({"document", "What a document is in a .txt file"}, c.document);
  visit({"documents_per_example",
         "Documents that are joined before an example is cut from them; in a stream, all that are "
         "read together are"},
        c.documents_per_example, at_least(1));
  visit({"mask_probability", "Share of words that are masked"}, c.mask_probability,
        between(0.0, 1.0));
  visit({"shorter_share",
         "Share of training examples cut to any length, so that short texts are learnt too"},
        c.shorter_share, between(0.0, 1.0));
  visit({"parts_shown",
         "Share of masked words of which some tokens are shown, any of them and at most all but "
         "one, so that words can be told letter by letter (model.fill_order)"},
        c.parts_shown, between(0.0, 1.0));
  visit({"tokenizer",
         "bytes, or the file of a SentencePiece model ('perceiver data sentencepiece' makes one)"},
        c.tokenizer);
}

// Bytes can be cut anywhere, as the paper's crops are; half a word has other pieces than a whole.
WindowEdge window_edge(const MaskingTokenizer& tokenizer);

// Each word masked on its own with this probability, and one at least where there is one; of a
// share of them some tokens are left as they are. -> positions of the masked ids, in order.
std::vector<int64_t> masked_positions(const MaskingTokenizer& tokenizer, const Ids& ids,
                                      double probability, Rng& rng, double parts_shown = 0.0);

// Examples: ids [M] with masks in them, mask [M] (true: there is a token), and of each masked
// position: positions [O], targets [O] (the id that was there), bytes [O] (that it stands for). In
// a batch O is the largest of its examples, rounded up a little; what is missing has the target
// kNoTarget.
constexpr int64_t kNoTarget = -100;

class MaskedTextDataset : public Dataset {
 public:
  // Of documents an example begins at each.
  using Texts = std::variant<Documents, std::unique_ptr<const Corpus>>;
  MaskedTextDataset(Texts texts, const MaskingTokenizer& tokenizer,
                    const LanguageDataConfig& config, int64_t num_inputs);

  int64_t size() const override;
  Example get(int64_t index, Rng& rng) const override;
  bool orders_itself() const override { return corpus() != nullptr; }
  Example batch(const std::vector<Example>& examples, Rng& rng) const override;

 private:
  const Corpus* corpus() const;  // null: documents
  int64_t length_of_example(Rng& rng) const;
  std::string text(int64_t index, int64_t bytes, Rng& rng) const;

  Texts texts_;
  const MaskingTokenizer& tokenizer_;
  LanguageDataConfig config_;
  int64_t num_inputs_;
};

// The training documents or the held-out ones.
Documents language_documents(const LanguageDataConfig& config, bool held_out);

// Whether the training texts are a stream, as data.read says; and the stream, of examples of
// `stride` bytes.
bool is_streamed(const LanguageDataConfig& config);
std::unique_ptr<const Corpus> language_corpus(const LanguageDataConfig& config, int64_t stride,
                                              uint64_t seed);

}  // namespace perceiver
