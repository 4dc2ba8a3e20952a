#include "perceiver/data/documents.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "perceiver/core/error_test.h"
#include "perceiver/data/gzip_file_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class DocumentsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder / "inner");
    write_file(folder / "b.txt", "one\n\n  \ntwo words\r\nthree");
    write_file(folder / "inner" / "a.jsonl", "{\"text\": \"caf\\u00e9\"}\n{\"text\": \"x\\ny\"}\n");
    write_file(folder / "c.md", "not a text for us");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string all(const Documents& documents, int64_t first = 0) {
    Rng rng(0);
    return documents.window(first, documents.size(), 1 << 20, rng);
  }

  fs::path folder = fs::path(testing::TempDir()) / "documents_test";
};

TEST_F(DocumentsTest, AreLinesThatAreNotEmptyOrFiles) {
  EXPECT_EQ(all(Documents({folder / "b.txt"}, DocumentUnit::kLine)), "one\ntwo words\nthree");
  EXPECT_EQ(all(Documents({folder / "b.txt"}, DocumentUnit::kFile)),
            "one\n\n  \ntwo words\r\nthree");
}

TEST_F(DocumentsTest, OfAFolderAreThoseOfItsTextsInOrder) {
  const Documents documents({folder}, DocumentUnit::kLine);
  EXPECT_EQ(documents.size(), 5);
  EXPECT_EQ(all(documents), "one\ntwo words\nthree\ncafé\nx\ny");
  EXPECT_EQ(all(documents, 3), "café\nx\ny\none\ntwo words\nthree");
}

TEST_F(DocumentsTest, OfZippedFilesAreThoseOfPlainOnes) {
  write_gzip(folder / "b.txt.gz", "one\n\n  \ntwo words\r\nthree");
  EXPECT_EQ(all(Documents({folder / "b.txt.gz"}, DocumentUnit::kLine)), "one\ntwo words\nthree");
  write_gzip(folder / "c.json.gz", "{\"text\": \"caf\\u00e9\"}\n{\"text\": \"x\\ny\"}\n");
  EXPECT_EQ(all(Documents({folder / "c.json.gz"}, DocumentUnit::kLine)), "café\nx\ny");
  EXPECT_EQ(
      error_of([&] { Documents({folder / "c.json.gz"}, DocumentUnit::kLine, /*room=*/3); }),
      (folder / "c.json.gz").string() + ": has more text than the 0 MiB that are held in memory");
  const std::vector<File> texts = {{"a.txt", "one\ntwo"}, {"b.jsonl", "{\"text\": \"x\\ny\"}\n"}};
  EXPECT_EQ(all(Documents(texts, DocumentUnit::kLine)), "one\ntwo\nx\ny");
  EXPECT_EQ(Documents(texts, DocumentUnit::kFile).size(), 2);
}

TEST_F(DocumentsTest, WindowsAreEveryPartOfTheTextAndNothingElse) {
  const Documents documents({folder}, DocumentUnit::kLine);
  const Documents on_disk({folder}, DocumentUnit::kLine, /*room=*/0);
  const std::string text = all(documents);
  std::set<std::string> expected, seen;
  for (size_t i = 0; i + 7 <= text.size(); ++i) expected.insert(text.substr(i, 7));
  for (uint64_t i = 0; i < 500; ++i) {
    Rng rng(i), same(i);
    const std::string window = documents.window(0, 5, 7, rng);
    EXPECT_EQ(window, on_disk.window(0, 5, 7, same));
    seen.insert(window);
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(DocumentsTest, WindowsOfWordsBeginAndEndBetweenWords) {
  const std::string text = "one cafés\n  naïve and\tfour sixth";
  write_file(folder / "words.txt", text);
  const Documents documents({folder / "words.txt"}, DocumentUnit::kFile);
  const std::set<std::string> words = {"one", "cafés", "naïve", "and", "four", "sixth"};
  std::set<std::string> first, last;
  for (uint64_t i = 0; i < 300; ++i) {
    Rng rng(i);
    std::istringstream window(documents.window(0, 1, 16, rng, WindowEdge::kWord));
    std::string word;
    for (bool begins = true; window >> word; begins = false) {
      EXPECT_TRUE(words.contains(word)) << word;
      if (begins) first.insert(word);
    }
    last.insert(word);
  }
  EXPECT_TRUE(first.contains("one"));
  EXPECT_TRUE(last.contains("sixth"));
  EXPECT_GE(first.size(), 4u);  // the last places have room for less than 16 bytes
}

TEST_F(DocumentsTest, WindowsOfOneLongWordBeginAndEndBetweenCharacters) {
  std::string word;
  for (int i = 0; i < 20; ++i) word += "é";
  write_file(folder / "word.txt", word);
  const Documents documents({folder / "word.txt"}, DocumentUnit::kLine);
  for (uint64_t i = 0; i < 100; ++i) {
    Rng rng(i);
    const std::string window = documents.window(0, 1, 7, rng, WindowEdge::kWord);
    EXPECT_EQ(window, "ééé");
  }
}

TEST_F(DocumentsTest, AreThoseOfTheBeginningWhateverBecomesOfTheFile) {
  const Documents documents({folder / "b.txt"}, DocumentUnit::kLine);
  write_file(folder / "b.txt", "four");
  EXPECT_EQ(all(documents), "one\ntwo words\nthree");
}

TEST_F(DocumentsTest, SomeCanBeKept) {
  Documents documents({folder}, DocumentUnit::kLine);
  documents.keep(1, 3);
  EXPECT_EQ(all(documents), "two words\nthree");
}

TEST_F(DocumentsTest, WhatCannotBeReadIsNamed) {
  const auto open = [&](const char* name) {
    return error_of([&] { Documents({folder / name}, DocumentUnit::kLine); });
  };
  EXPECT_EQ(open("gone"), (folder / "gone").string() + ": no such file or folder");
  fs::create_directories(folder / "empty");
  EXPECT_EQ(open("empty"),
            (folder / "empty").string() +
                ": no .txt, .jsonl or .json files in this folder, nor such with .gz");

  write_file(folder / "bad.jsonl", "{\"text\": \"good\"}\n{\"txt\": 3}\n{\"te");
  const Documents bad({folder / "bad.jsonl"}, DocumentUnit::kLine);
  for (const int64_t line : {2, 3}) {
    EXPECT_EQ(error_of([&] {
                Rng rng(0);
                bad.window(line - 1, 1, 100, rng);
              }),
              (folder / "bad.jsonl").string() + ":" + std::to_string(line) +
                  ": must be a JSON object with a string 'text'");
  }
  const Documents lines({folder / "b.txt"}, DocumentUnit::kLine, /*room=*/0);
  write_file(folder / "b.txt", "one");
  EXPECT_EQ(error_of([&] { all(lines); }),
            (folder / "b.txt").string() + ": is shorter than it was when training began");
}

}  // namespace
}  // namespace perceiver
