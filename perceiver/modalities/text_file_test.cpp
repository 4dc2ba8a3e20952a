#include "perceiver/modalities/text_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

using Example = std::map<std::string, Tensor>;

Example read(const std::vector<File>& files, int64_t length, TextMarks marks = TextMarks::kNone) {
  return read_bytes(files, 262, length, marks);
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
  const std::vector<File> file = {{"a.txt", "a"}};
  EXPECT_EQ(error_of([&] { read_bytes(file, 32000, 4); }),
            "files are read as bytes, a vocabulary of 262; the model's has 32000");
}

TEST(TextRows, HaveNoColumnThatIsAllPadding) {
  const TokenBatch rows = text_rows(read({{"a.txt", "ab cde"}}, 5), at::kCPU);
  EXPECT_EQ(rows.ids.sizes(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(rows.mask.sizes(), rows.ids.sizes());
}

}  // namespace
}  // namespace perceiver
