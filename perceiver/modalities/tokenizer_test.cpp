#include "perceiver/modalities/tokenizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#ifdef PERCEIVER_SENTENCEPIECE
#include "perceiver/modalities/sentencepiece_test.h"
#endif

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class ModelTokenizerTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("tokenizer_" + std::to_string(getpid()));
};

TEST_F(ModelTokenizerTest, BytesAreKnownByTheirNumber) {
  ModelTokenizer tokenizer(262);
  EXPECT_TRUE(is_of_bytes(tokenizer.get()));
  tokenizer.find("nowhere", "some/model.safetensors");
  EXPECT_TRUE(is_of_bytes(tokenizer.get()));
  EXPECT_TRUE(tokenizer.file().empty());
}

TEST_F(ModelTokenizerTest, OthersNeedAFileWhenTextsAreRead) {
  ModelTokenizer tokenizer(32000, "no/such/file");
  EXPECT_EQ(error_of([&] { tokenizer.get(); }),
            "the model: a vocabulary of 32000 is not that of bytes (262), and there is no "
            "spiece.model, tokenizer.model or sentencepiece.model in its folder");
  tokenizer.find("nowhere", "some/model.safetensors");
  EXPECT_EQ(error_of([&] { tokenizer.get(); }),
            "some/model.safetensors: a vocabulary of 32000 is not that of bytes (262), and there "
            "is no spiece.model, tokenizer.model or sentencepiece.model in nowhere");
  write_file(folder_ / "tokenizer.model", "no such thing");
  tokenizer.find(folder_, "some/model.safetensors");
  EXPECT_TRUE(
      error_of([&] { tokenizer.get(); }).starts_with((folder_ / "tokenizer.model: ").string()));
  EXPECT_TRUE(tokenizer.file().empty());
}

TEST(ShownToken, OfBytesIsALetterAMarkOrAMask) {
  const Tokenizer bytes = ByteTokenizer();
  EXPECT_EQ(shown_token(bytes, 'a' + 6), "a");
  EXPECT_EQ(shown_token(bytes, ByteTokenizer::kMask), "_");
  EXPECT_EQ(shown_token(bytes, ByteTokenizer::kCls), "[CLS]");
  EXPECT_EQ(shown_token(bytes, ByteTokenizer::kPad), "[]");
}

#ifdef PERCEIVER_SENTENCEPIECE

TEST_F(ModelTokenizerTest, LiesInTheFolderOrWhereTheConfigSays) {
  write_file(folder_ / "spiece.model", small_model().bytes);
  const int64_t pieces = SentencePieceTokenizer(small_model()).vocabulary_size();
  ModelTokenizer found(pieces);
  found.find(folder_, "m");
  EXPECT_EQ(found.file(), folder_ / "spiece.model");
  EXPECT_EQ(token_ids(found.get(), "the latents"),
            SentencePieceTokenizer(small_model()).encode("the latents"));
  ModelTokenizer named(pieces + 1, (folder_ / "spiece.model").string());
  named.find("elsewhere", "m");
  EXPECT_FALSE(is_of_bytes(named.get()));
  ModelTokenizer small(pieces - 1);
  small.find(folder_, "m");
  EXPECT_EQ(error_of([&] { small.get(); }),
            fmt::format("{}: {} pieces, more than the model's vocabulary of {}",
                        (folder_ / "spiece.model").string(), pieces, pieces - 1));
}

TEST(ShownToken, OfPiecesHasItsSpace) {
  const SentencePieceTokenizer pieces(small_model());
  const Tokenizer tokenizer = pieces;
  EXPECT_EQ(shown_token(tokenizer, pieces.id_of("\u2581attend").value()), " attend");
  EXPECT_EQ(shown_token(tokenizer, pieces.special().mask), "[MASK]");
  EXPECT_EQ(special_ids(tokenizer).cls, pieces.special().cls);
}

#endif

}  // namespace
}  // namespace perceiver
