#include "perceiver/tasks/language/latents.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/modalities/text_file.h"
#include "perceiver/model/flops.h"
#ifdef PERCEIVER_SENTENCEPIECE
#include "perceiver/modalities/sentencepiece_test.h"
#endif
#include "perceiver/tasks/application.h"
#include "perceiver/tasks/language/masks.h"
#include "perceiver/tasks/language/tiny_test.h"

namespace perceiver {
namespace {

LanguageConfig tiny() { return tiny_language(/*num_inputs=*/40); }

TEST(WordsOf, StandBetweenWhiteSpaceInAnyRow) {
  const std::vector<File> text = {{"a.txt", "Île \t de\nFrance, abcdefghijkl"}};
  const std::vector<PlacedWord> words =
      words_of(read_texts(text, ByteTokenizer(), 10).at("ids"), ByteTokenizer());
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[0].text, "Île");
  EXPECT_EQ(words[1].text, "de");
  EXPECT_EQ(words[2].text, "France,");
  EXPECT_EQ(words[3].text, "abcdefghijkl");  // longer than a row
  EXPECT_EQ(words[3].places.size(), 12u);
  EXPECT_LT(words[3].places.front().row, words[3].places.back().row);
}

TEST(WordsOf, LettersThatAreMaskedAreOneMissingWord) {
  const std::vector<File> text = {{"a.txt", "the [MASK], un<mask>able"}};
  const std::vector<PlacedWord> words =
      words_of(read_masked_texts(text, ByteTokenizer(), 30).at("ids"), ByteTokenizer());
  ASSERT_EQ(words.size(), 3u);
  EXPECT_FALSE(words[0].is_missing);
  EXPECT_EQ(words[1].text, "[MASK],");
  EXPECT_EQ(words[1].places.size(), 6u);
  EXPECT_TRUE(words[1].is_missing);
  EXPECT_EQ(words[2].text, "un[MASK]able");
}

#ifdef PERCEIVER_SENTENCEPIECE

TEST(WordsOf, OfPiecesBeginWithASpaceOrAMask) {
  const SentencePieceTokenizer pieces(small_model());
  const Tokenizer tokenizer = pieces;
  const std::vector<File> text = {{"a.txt", "the [MASK], queries attend"}};
  const std::vector<int64_t> lengths = {2};
  const std::vector<PlacedWord> words =
      words_of(read_masked_texts(text, tokenizer, 40, lengths).at("ids"), tokenizer);
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[0].text, "the");
  EXPECT_EQ(words[1].text.substr(0, 6), "[MASK]");  // the comma is no piece of the small model's
  EXPECT_TRUE(words[1].is_missing);
  EXPECT_EQ(words[1].ids[1], pieces.special().mask);
  EXPECT_EQ(words[2].text, "queries");
  EXPECT_EQ(words[3].text, "attend");
  EXPECT_FALSE(words[3].is_missing);
}

#endif

// The model reads masks, not the letters of "[MASK]", and the space before them is one.
TEST(LanguageTask, EncodesAMissingWordAsMasks) {
  at::NoGradGuard no_grad;
  const std::unique_ptr<Task> task =
      make_task(read_file(shipped("configs/language_bytes_mini.toml")));
  Ids ids = ByteTokenizer().encode("the xxxxx of");
  std::fill_n(ids.begin() + 3, 6, ByteTokenizer::kMask);
  const std::vector<File> text = {{"a.txt", "the [MASK] of"}};
  const Tensor latents = task->application()->encode(task->application()->read(text));
  auto& model = dynamic_cast<LanguageImpl&>(task->model());
  EXPECT_TRUE(at::allclose(latents, model.encode(at::tensor(ids).unsqueeze(0)), 1e-4, 1e-5));
}

TEST(LanguageTask, ReadsAndEncodesFiles) {
  at::NoGradGuard no_grad;
  const std::vector<File> text = {{"a.txt", "Paris is the capital"}};
  const std::unique_ptr<Task> task =
      make_task(read_file(shipped("configs/language_bytes_mini.toml")));
  const Tensor ids = at::tensor(ByteTokenizer().encode(text[0].bytes)).unsqueeze(0);
  auto& model = dynamic_cast<LanguageImpl&>(task->model());
  const Tensor latents = task->application()->encode(task->application()->read(text));
  EXPECT_TRUE(at::allclose(latents, model.encode(ids), 1e-4, 1e-5));
  const File bert{"bert.toml",
                  "task = \"bert\"\nmodel.vocabulary_size = 262\n"
                  "model.transformer = { num_layers = 1 }"};
  const std::unique_ptr<Task> baseline = make_task(bert);
  EXPECT_EQ(error_of([&] { baseline->application()->encode(baseline->application()->read(text)); }),
            "models of this task have no latents");
}

TEST(LogProbabilitiesAt, AreThoseOfTheForwardPass) {
  at::NoGradGuard no_grad;
  at::manual_seed(1);
  Language model(tiny());
  const Tensor ids = at::randint(6, 262, {2, 12}, at::kLong);
  const Tensor latents = model->encode(ids), all = model(ids).log_softmax(-1);
  const std::vector<TokenAt> places = {{1, 3}, {0, 11}, {1, 0}};
  const Tensor some = log_probabilities_at(*model, latents, places);
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_TRUE(at::allclose(some[static_cast<int64_t>(i)], all[places[i].row][places[i].position],
                             1e-4, 1e-5));
  }
}

TEST(LogProbabilitiesAt, ATenthOfTheBytesCostsATenthOfTheDecoding) {
  at::NoGradGuard no_grad;
  const AttentionKernelScope reference("reference");
  Language model(tiny());
  const Tensor latents = at::randn({1, 5, 24});
  const auto flops = [&](int64_t bytes) {
    std::vector<TokenAt> places;
    for (int64_t i = 0; i < bytes; ++i) places.push_back({0, i});
    return recorded_flops([&] { log_probabilities_at(*model, latents, places); });
  };
  const int64_t once = 2 * 5 * 24 * (8 + 16);  // keys and values of the latents
  EXPECT_EQ(flops(40) - once, 10 * (flops(4) - once));
  EXPECT_LT(flops(4), 0.12 * flops(40));
}

}  // namespace
}  // namespace perceiver
