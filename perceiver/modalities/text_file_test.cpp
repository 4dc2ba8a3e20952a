#include "perceiver/modalities/text_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#ifdef PERCEIVER_SENTENCEPIECE
#include "perceiver/modalities/sentencepiece_test.h"
#endif

namespace perceiver {
namespace {

using Example = std::map<std::string, Tensor>;

Example read(const std::vector<File>& files, int64_t length, TextMarks marks = TextMarks::kNone) {
  return read_texts(files, ByteTokenizer(), length, marks);
}

Tensor row(const Ids& ids) { return at::tensor(ids); }

TEST(ReadBytes, OneFileIsOneRowWithoutTheLastLinesEnd) {
  for (const char* text : {"ab", "ab\n", "ab\r\n"}) {
    const Example example = read({{"a.txt", text}}, 4);
    EXPECT_TRUE(example.at("ids").equal(row({'a' + 6, 'b' + 6, 0, 0}).unsqueeze(0)));
    EXPECT_TRUE(example.at("mask").equal(example.at("ids") > 0));
  }
}

TEST(ReadBytes, ALongTextIsSeveralRows) {
  const Example example = read({{"a.txt", "ab cd"}}, 4);
  EXPECT_TRUE(example.at("ids")[0].equal(row({'a' + 6, 'b' + 6, 0, 0})));
  EXPECT_TRUE(example.at("ids")[1].equal(row({' ' + 6, 'c' + 6, 'd' + 6, 0})));
}

TEST(ReadBytes, MarksAreHuggingFaces) {
  const Example example = read({{"a.txt", "abcd"}}, 4, TextMarks::kClsAndSep);
  EXPECT_TRUE(example.at("ids")[0].equal(row({4, 'a' + 6, 'b' + 6, 5})));
  EXPECT_TRUE(example.at("ids")[1].equal(row({4, 'c' + 6, 'd' + 6, 5})));
}

TEST(ReadBytes, APairHasAMarkBetween) {
  const std::vector<File> pair = {{"a.txt", "a"}, {"b.txt", "b"}};
  EXPECT_TRUE(read(pair, 4).at("ids")[0].equal(row({'a' + 6, 5, 'b' + 6, 0})));
  EXPECT_TRUE(
      read(pair, 5, TextMarks::kClsAndSep).at("ids")[0].equal(row({4, 'a' + 6, 5, 'b' + 6, 5})));
  EXPECT_EQ(error_of([&] { read(pair, 2); }),
            "a.txt and b.txt: 3 bytes together, the model reads 2; shorten them");
}

TEST(ReadBytes, MistakesAreNamed) {
  EXPECT_EQ(error_of([] { read({{"a.txt", "\n"}}, 4); }), "a.txt: the text is empty");
  EXPECT_EQ(error_of([] {
              read({{"a.jpg", std::string("\xFF\xD8\xFF\xE0\0\x10", 6)}}, 4);
            }),
            "a.jpg: a binary file, expected a text; is the model the right one (-m)?");
  EXPECT_EQ(error_of([] { read({}, 4); }), "a model of texts takes one file, or a pair, got 0");
}

#ifdef PERCEIVER_SENTENCEPIECE

Ids ids_of(const Tensor& row) {
  const Tensor ids = row.contiguous();
  return {ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel()};
}

TEST(ReadPieces, AreThoseOfTheTokenizerWithItsOwnMarks) {
  const SentencePieceTokenizer pieces(small_model());
  const Ids text = pieces.encode("the latents attend");
  const std::vector<File> file = {{"a.txt", "the latents attend\n"}};
  const auto length = std::ssize(text) + 3;
  Example rows = read_texts(file, pieces, length);
  EXPECT_EQ(ids_of(rows.at("ids")[0].masked_select(rows.at("mask")[0])), text);
  EXPECT_EQ(rows.at("ids")[0][-1].item<int64_t>(), pieces.special().pad);
  rows = read_texts(file, pieces, length, TextMarks::kClsAndSep);
  EXPECT_EQ(ids_of(rows.at("ids")[0].masked_select(rows.at("mask")[0])),
            wrap(pieces.special(), text));
  const std::vector<File> pair = {{"a.txt", "the latents"}, {"b.txt", "queries"}};
  const Ids a = pieces.encode("the latents"), b = pieces.encode("queries");
  Ids both = a;
  both.push_back(pieces.special().sep);
  both.insert(both.end(), b.begin(), b.end());
  rows = read_texts(pair, pieces, 60);
  EXPECT_EQ(ids_of(rows.at("ids")[0].masked_select(rows.at("mask")[0])), both);
  EXPECT_EQ(error_of([&] { read_texts(pair, pieces, 2); }),
            fmt::format("a.txt and b.txt: {} tokens together, the model reads 2; shorten them",
                        both.size()));
  const std::vector<File> spaces = {{"a.txt", "   "}};
  EXPECT_EQ(error_of([&] { read_texts(spaces, pieces, 8); }), "a.txt: the text is empty");
}

TEST(ReadPieces, ALongTextIsCutBeforeAWord) {
  const SentencePieceTokenizer pieces(small_model());
  const std::vector<File> file = {{"a.txt", "queries attend to the latents outputs attend"}};
  const Example rows = read_texts(file, pieces, 5);
  ASSERT_GT(rows.at("ids").size(0), 1);
  Ids all;
  for (int64_t row = 0; row < rows.at("ids").size(0); ++row) {
    const Ids ids = ids_of(rows.at("ids")[row].masked_select(rows.at("mask")[row]));
    all.insert(all.end(), ids.begin(), ids.end());
    EXPECT_TRUE(begins_word(pieces, ids.front()) || ids.size() == 5u) << row;
  }
  EXPECT_EQ(all, pieces.encode(file[0].bytes));
}

#endif

TEST(TextRows, HaveNoColumnThatIsAllPadding) {
  const TokenBatch rows = text_rows(read({{"a.txt", "ab cde"}}, 5), at::kCPU);
  EXPECT_EQ(rows.ids.sizes(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(rows.mask.sizes(), rows.ids.sizes());
}

}  // namespace
}  // namespace perceiver
