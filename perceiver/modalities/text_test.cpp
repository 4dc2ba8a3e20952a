#include "perceiver/modalities/text.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/core/error_test.h"

#ifdef PERCEIVER_SENTENCEPIECE
#include "perceiver/modalities/sentencepiece_test.h"
#endif

namespace perceiver {
namespace {

TEST(ByteTokenizer, ByteFollowsTheSixSpecialIds) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.vocabulary_size(), 262);
  EXPECT_EQ(tokenizer.encode(std::string_view("a\0\xFF", 3)), (Ids{'a' + 6, 6, 261}));
  EXPECT_EQ(tokenizer.encode("é"), (Ids{0xC3 + 6, 0xA9 + 6}));
}

TEST(ByteTokenizer, TextComesBack) {
  const ByteTokenizer tokenizer;
  for (const std::string text :
       {"", "Paris is the capital of France.", "naïve Füße 日本語 🛰\n\t"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(ByteTokenizer, SpecialIdsAreNotText) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.decode(Ids{4, 'a' + 6, 3, 'b' + 6, 5, 0, 1, 2}), "ab");
  EXPECT_EQ(error_of([&] { tokenizer.decode(Ids{262}); }),
            "id 262 is not in the vocabulary of 262 bytes and special ids");
}

TEST(Wrap, MarksBeginAndEndsAsHuggingFaceDoes) {
  const SpecialIds special = ByteTokenizer().special();
  EXPECT_EQ(wrap(special, {70, 71}), (Ids{4, 70, 71, 5}));
  EXPECT_EQ(wrap(special, {70}, Ids{71, 72}), (Ids{4, 70, 5, 71, 72, 5}));
}

TEST(PadOrCrop, MaskIsTrueWhereThereIsText) {
  const TokenBatch batch = pad_or_crop({{7, 8}, {9, 10, 11, 12}, {}}, 3, 0);
  EXPECT_TRUE(batch.ids.equal(at::tensor({7, 8, 0, 9, 10, 11, 0, 0, 0}, at::kLong).view({3, 3})));
  EXPECT_TRUE(batch.mask.equal(batch.ids > 0));
}

TEST(TextInput, IsEmbeddingPlusPosition) {
  at::NoGradGuard no_grad;
  TextInput input(20, 8, 4);
  const Tensor ids = at::tensor({3, 3, 19}).view({1, 3});
  const Tensor x = input(ids).materialise(),
               position = input->named_parameters()["position.weight"];
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{1, 3, 4}));
  EXPECT_TRUE(x[0][1].equal(input->token_weight()[3] + position[1]));
  const Tensor before = at::randn({1, 1, 4});
  EXPECT_TRUE(input(ids, before).materialise()[0][0].equal(before[0][0] + position[0]));
  EXPECT_TRUE(
      input(ids, before).materialise()[0][3].equal(input->token_weight()[19] + position[3]));
}

TEST(TextInput, IsOfLearnedSumsThatAreStoredOnlyBehindOtherVectors) {
  TextInput input(20, 8, 4);
  const Tensor ids = at::randint(20, {2, 5}, at::kLong);
  EXPECT_TRUE(input(ids).learned_sums());
  EXPECT_FALSE(input(ids, at::randn({2, 1, 4})).learned_sums());
  EXPECT_EQ(error_of([&] {
              input(at::zeros({1, 9}, at::kLong));
            }),
            "a text of 9 tokens is longer than the model's 8; crop it first");
}

TEST(TextInput, TokensStartWideAndPositionsNarrow) {
  at::manual_seed(1);
  const TextInput input(200, 200, 200);
  constexpr double kCutStddev = 0.8796;  // what cutting at two standard deviations leaves of 1
  EXPECT_NEAR(input->token_weight().std().item<double>(), kCutStddev, 0.01);
  EXPECT_NEAR(input->named_parameters()["position.weight"].std().item<double>(), 0.02 * kCutStddev,
              0.0002);
}

TEST(TextInput, RefusesWhatTheModelHasNoVectorFor) {
  TextInput input(20, 8, 4);
  EXPECT_EQ(error_of([&] {
              input(at::zeros({1, 9}, at::kLong));
            }),
            "a text of 9 tokens is longer than the model's 8; crop it first");
  EXPECT_EQ(error_of([&] {
              input(at::full({1, 2}, 20, at::kLong));
            }),
            "id 20 is not in the model's vocabulary of 20");
}

#ifdef PERCEIVER_SENTENCEPIECE

TEST(SentencePieceTokenizer, TextComesBackWithoutSpecialIds) {
  const SentencePieceTokenizer tokenizer(small_model());
  const std::string text = "the queries attend to the inputs";
  Ids ids = tokenizer.encode(text);
  EXPECT_LT(ids.size(), text.size());
  const SpecialIds special = tokenizer.special();
  ids = wrap(special, ids);
  ids.push_back(special.pad);
  EXPECT_EQ(tokenizer.decode(ids), text);
}

TEST(SentencePieceTokenizer, KnowsWhichPiecesAreText) {
  const SentencePieceTokenizer tokenizer(small_model());
  const SpecialIds special = tokenizer.special();
  for (const int64_t id : {special.pad, special.mask, special.cls, special.sep, int64_t{0}}) {
    EXPECT_FALSE(tokenizer.is_text(id)) << tokenizer.piece(id);
  }
  for (const int64_t id : tokenizer.encode("the latents")) {
    EXPECT_TRUE(tokenizer.is_text(id)) << tokenizer.piece(id);
  }
}

TEST(SentencePieceTokenizer, PiecesAndIdsAreEachOthersInverse) {
  const SentencePieceTokenizer tokenizer(small_model());
  for (int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    EXPECT_EQ(tokenizer.id_of(tokenizer.piece(id)), id);
  }
  EXPECT_EQ(tokenizer.special().pad, 3);
  EXPECT_EQ(tokenizer.piece(tokenizer.special().mask), "[MASK]");
  EXPECT_EQ(tokenizer.id_of("no such piece"), std::nullopt);
  EXPECT_EQ(error_of([&] { tokenizer.piece(-1); }),
            fmt::format("small.model: id -1 is not in the vocabulary of {} pieces",
                        tokenizer.vocabulary_size()));
}

TEST(SentencePieceTokenizer, BrokenModelsAreNamed) {
  EXPECT_EQ(error_of([] {
              SentencePieceTokenizer({"a.model", ""});
            }),
            "a.model: not a SentencePiece model");
  EXPECT_EQ(error_of([] {
              SentencePieceTokenizer({"a.model", "not a model"});
            }),
            "a.model: not a SentencePiece model");
  EXPECT_EQ(error_of([] { SentencePieceTokenizer(trained_model("--pad_id=3")); }),
            "small.model: has no piece '[MASK]'; train it with "
            "--control_symbols=[PAD],[MASK],[CLS],[SEP]");
}

// A model cut between two pieces is a smaller model to the library; nothing may crash.
TEST(SentencePieceTokenizer, TruncationsAreErrorsOrSmallerModels) {
  const File& whole = small_model();
  for (size_t length = 0; length < whole.bytes.size(); length += 7) {
    try {
      SentencePieceTokenizer({"cut.model", whole.bytes.substr(0, length)}).encode("the queries");
    } catch (const Error& e) {
      EXPECT_TRUE(std::string_view(e.what()).starts_with("cut.model: ")) << e.what();
    }
  }
}

#else

TEST(SentencePieceTokenizer, ABuildWithoutTheLibrarySaysHowToGetIt) {
  EXPECT_EQ(error_of([] {
              SentencePieceTokenizer({"a.model", "x"});
            }),
            "a.model: this build has no SentencePiece; install libsentencepiece-dev and build "
            "again");
}

#endif

}  // namespace
}  // namespace perceiver
