#include "perceiver/data/delimited.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/data/json_line.h"
#include "perceiver/data/rows.h"

namespace perceiver {
namespace {

using Fields = std::vector<std::string>;

class DelimitedTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  std::vector<Fields> read(const std::string& text, DelimitedFormat format = {}) const {
    write_file(path_, text);
    DelimitedReader reader(path_, format);
    std::vector<Fields> records;
    while (std::optional<Fields> fields = reader.next()) records.push_back(std::move(*fields));
    return records;
  }

  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("delimited_" + std::to_string(getpid()));
};

// The examples of RFC 4180, section 2, by its numbers.
TEST_F(DelimitedTest, FollowsRfc4180) {
  const std::vector<Fields> two = {{"aaa", "bbb", "ccc"}, {"zzz", "yyy", "xxx"}};
  EXPECT_EQ(read("aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n"), two);                          // 1
  EXPECT_EQ(read("aaa,bbb,ccc\r\nzzz,yyy,xxx"), two);                              // 2
  EXPECT_EQ(read("\"aaa\",\"bbb\",\"ccc\"\r\nzzz,yyy,xxx"), two);                  // 5
  EXPECT_EQ(read("\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx")[0][1], "b\r\nbb");  // 6
  EXPECT_EQ(read("\"aaa\",\"b\"\"bb\",\"ccc\"")[0][1], "b\"bb");                   // 7
}

TEST_F(DelimitedTest, KeepsWhatIsInAField) {
  EXPECT_EQ(read("a b , c,\n"), (std::vector<Fields>{{"a b ", " c", ""}}));
  EXPECT_EQ(read("\"x, y\",\"\",\"\"\"\"\n"), (std::vector<Fields>{{"x, y", "", "\""}}));
  EXPECT_EQ(read("a,\"one\n\ntwo\"\n"), (std::vector<Fields>{{"a", "one\n\ntwo"}}));
  EXPECT_EQ(read("5\" disk,ok\n"), (std::vector<Fields>{{"5\" disk", "ok"}}));
  EXPECT_EQ(read("\xEF\xBB\xBF\"a\",b\n"), (std::vector<Fields>{{"a", "b"}}));  // with a BOM
  EXPECT_EQ(read(""), std::vector<Fields>{});
}

TEST_F(DelimitedTest, WithoutQuotesTheyAreLetters) {
  EXPECT_EQ(read("\"a\t\"b\" c\r\nd\t\n", {'\t', false}),
            (std::vector<Fields>{{"\"a", "\"b\" c"}, {"d", ""}}));
}

TEST_F(DelimitedTest, LinesAreThoseWhereARecordBegins) {
  write_file(path_, "a,b\n\"x\ny\",1\nlast,2\n");
  DelimitedReader reader(path_, {});
  for (const int64_t line : {1, 2, 4}) {
    reader.next();
    EXPECT_EQ(reader.line(), line);
  }
}

TEST_F(DelimitedTest, MistakesAreNamedAndTheNextRecordIsRead) {
  EXPECT_EQ(error_of([&] { read("a\n\nb\n"); }), "an empty line, expected an example");
  EXPECT_EQ(error_of([&] { read("\"a\nb,c\n"); }), "a quote is opened and never closed");
  EXPECT_EQ(error_of([&] { read("\"a\"b,c\n"); }),
            "'b' behind a closing quote, expected ',' or the line's end; a quote in quotes is "
            "\"\"");
  DelimitedReader reader(path_, {});
  EXPECT_THROW(reader.next(), Error);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(error_of([] { DelimitedReader("/no/such/file", {}); }), "/no/such/file: cannot open");
}

TEST(JsonLine, HasTextsAndWords) {
  const JsonLine json("{\"a\": \"x\\n\", \"b\": 2.5, \"c\": true, \"d\": null, \"e\": [1]}", "{}");
  EXPECT_EQ(json.text("a"), "x\n");
  EXPECT_EQ(json.word("a"), "x\n");
  EXPECT_EQ(json.word("b"), "2.5");
  EXPECT_EQ(json.word("c"), "true");
  EXPECT_TRUE(json.has("d"));
  EXPECT_FALSE(json.has("f"));
  EXPECT_EQ(error_of([&] { json.text("b"); }), "\"b\" is no string");
  EXPECT_EQ(error_of([&] { json.word("d"); }), "\"d\" is null, expected a string or a number");
  EXPECT_EQ(error_of([&] { json.word("e"); }), "\"e\" is [1], expected a string or a number");
  EXPECT_EQ(error_of([&] { json.text("f"); }), "no \"f\" in this object");
  EXPECT_EQ(error_of([] { JsonLine("[1]", "{\"a\": …}"); }), "no JSON object, expected {\"a\": …}");
}

TEST(PartOf, AShareIsSpreadOverTheRows) {
  std::vector<int> rows(10);
  for (int i = 0; i < 10; ++i) rows[i] = i;
  EXPECT_EQ(part_of(rows, 0.2, true), (std::vector<int>{4, 9}));
  EXPECT_EQ(part_of(rows, 0.2, false), (std::vector<int>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_EQ(part_of(rows, 0.0, true), std::vector<int>{});
  EXPECT_EQ(part_of(rows, 1.0, true), rows);
}

}  // namespace
}  // namespace perceiver
