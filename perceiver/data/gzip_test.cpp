#include "perceiver/data/gzip.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/rng.h"
#include "perceiver/data/gzip_file_test.h"
#include "perceiver/data/line_reader.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class GzipTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  // Lines that do not compress to nothing.
  static std::string lines(int64_t count) {
    std::string text;
    Rng rng(1);
    for (int64_t i = 0; i < count; ++i) text += fmt::format("line {} {}\n", i, rng.bits());
    return text;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("gzip_" + std::to_string(getpid()));
  fs::path file = folder / "text.gz";
};

TEST_F(GzipTest, TheTextComesBackBlockByBlock) {
  const std::string text = lines(50'000);
  write_gzip(file, text);
  EXPECT_EQ(read_gzip(file, 1 << 30), text);
  GzipReader reader(file);
  std::string all;
  int64_t blocks = 0, last = -1;
  while (reader.read(all)) {
    EXPECT_GE(reader.block(), last);
    blocks += reader.block() > last;
    last = reader.block();
  }
  EXPECT_EQ(all, text);
  EXPECT_GT(blocks, 10);
  EXPECT_LT(last, static_cast<int64_t>(fs::file_size(file)));
}

TEST_F(GzipTest, SeveralMembersAreOneTextAndZerosBehindThemNothing) {
  write_file(file, gzip("one\n") + gzip("") + gzip("two\n") + std::string(1000, '\0'));
  EXPECT_EQ(read_gzip(file, 1 << 20), "one\ntwo\n");
}

TEST_F(GzipTest, StoredBlocksAreReadToo) {
  const std::string text = lines(20'000);
  write_file(file, gzip(text, 0));
  EXPECT_EQ(read_gzip(file, 1 << 30), text);
}

TEST_F(GzipTest, EveryTruncationIsNamed) {
  const std::string whole = gzip(lines(50));
  for (size_t length = 1; length < whole.size(); ++length) {
    write_file(file, whole.substr(0, length));
    EXPECT_EQ(error_of([&] { read_gzip(file, 1 << 20); }),
              fmt::format("{}: ends after {} bytes in the middle of its text; copy it again",
                          file.string(), length));
  }
  write_file(file, "");
  EXPECT_EQ(error_of([&] { read_gzip(file, 1 << 20); }),
            file.string() + ": has no bytes, expected gzip; copy it again");
}

TEST_F(GzipTest, WhatIsDamagedIsNamed) {
  const std::string text = lines(200), whole = gzip(text);
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write_file(file, damaged);
    // The header's time, flags and name may say anything.
    const std::string error = error_of([&] { EXPECT_EQ(read_gzip(file, 1 << 20), text); });
    EXPECT_TRUE(at < 10 || error != "no error") << at;
  }
  write_file(file, "just text\n");
  EXPECT_EQ(error_of([&] { read_gzip(file, 1 << 20); }),
            file.string() + ": is damaged before byte 2 (incorrect header check); copy it again");
  EXPECT_EQ(error_of([&] { read_gzip(folder / "gone.gz", 1); }),
            (folder / "gone.gz").string() + ": cannot open: No such file or directory");
}

TEST_F(GzipTest, MoreThanThereIsRoomForIsRefused) {
  write_gzip(file, std::string(3 << 20, 'x'));
  EXPECT_EQ(error_of([&] { read_gzip(file, 2 << 20); }),
            file.string() + ": has more text than the 2 MiB that are held in memory");
}

TEST_F(GzipTest, LinesFromAnyPlaceOnAreThoseThatBeginThere) {
  const fs::path plain = folder / "text.txt";
  const std::string text = "one\n\nthree\r\nfour";
  write_file(plain, text);
  for (int64_t begin = 0; begin <= std::ssize(text); ++begin) {
    LineReader reader(plain, begin);
    std::string rest;
    int64_t first = std::ssize(text);
    for (; const TextLine* line = reader.line(); reader.advance()) {
      if (rest.empty()) first = line->offset;
      EXPECT_EQ(line->position, line->offset);
      (rest += line->text) += '\n';
    }
    size_t expected = begin;
    while (expected > 0 && expected < text.size() && text[expected - 1] != '\n') ++expected;
    EXPECT_EQ(rest, expected < text.size() ? text.substr(expected) + '\n' : "") << begin;
    EXPECT_TRUE(rest.empty() || first == static_cast<int64_t>(expected)) << begin;
  }
}

TEST_F(GzipTest, LinesHaveTheirNumberInPlainAndZippedFiles) {
  const std::string text = lines(100'000);
  write_file(folder / "text.txt", text);
  write_gzip(file, text);
  LineReader plain(folder / "text.txt", 1'500'000), zipped(file);
  while (zipped.line()->offset < plain.line()->offset) zipped.advance();
  for (int i = 0; i < 1000; ++i, plain.advance(), zipped.advance()) {
    ASSERT_EQ(plain.line()->text, zipped.line()->text);
    ASSERT_EQ(plain.line()->offset, zipped.line()->offset);
    EXPECT_LT(zipped.line()->position, plain.line()->position);
  }
  const std::string_view words = plain.line()->text;
  const int64_t number = std::stoll(std::string(words.substr(5))) + 1;
  EXPECT_EQ(plain.place(), fmt::format("{}/text.txt:{}", folder.string(), number));
  EXPECT_EQ(zipped.place(), fmt::format("{}:{}", file.string(), number));
}

TEST_F(GzipTest, ALineWithoutEndIsRefused) {
  write_file(folder / "text.txt",
             "short\n" + std::string(LineReader::kLongestLine + (1 << 20), 'x'));
  LineReader reader(folder / "text.txt");
  EXPECT_EQ(reader.line()->text, "short");
  reader.advance();
  EXPECT_EQ(error_of([&] { reader.line(); }),
            (folder / "text.txt").string() +
                ":2: a line of more than 16 MiB, expected a document a line");
}

}  // namespace
}  // namespace perceiver
