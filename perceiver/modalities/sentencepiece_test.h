// For tests of models on pieces of words: a SentencePiece model of a few lines.
#pragma once

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include "perceiver/core/file.h"

namespace perceiver {

// Iterates over a few lines that repeat, for the trainer.
class Lines : public sentencepiece::SentenceIterator {
 public:
  bool done() const override { return index_ == 200; }
  void Next() override { line_ = kLines[++index_ % 4]; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  static constexpr const char* kLines[] = {
      "the perceiver attends to the inputs", "the latents attend to the latents",
      "queries attend to the latents", "outputs are what the queries ask for"};
  int index_ = 0;
  std::string line_ = kLines[0];
};

inline File trained_model(const std::string& symbols) {
  Lines lines;
  File model{.name = "small.model", .bytes = ""};
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      "--model_type=unigram --vocab_size=60 --hard_vocab_limit=false --minloglevel=2 " + symbols,
      &lines, &model.bytes);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

inline const File& small_model() {
  static const File model = trained_model("--pad_id=3 --control_symbols=[MASK],[CLS],[SEP]");
  return model;
}

}  // namespace perceiver
