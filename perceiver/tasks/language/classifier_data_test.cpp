#include "perceiver/tasks/language/classifier_data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class LabelledTexts : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, text);
    return (folder_ / name).string();
  }

  // What is wrong with the file, without its name.
  std::string error_in(const std::string& name, const std::string& text,
                       const TextColumns& columns = {}) const {
    const std::string path = write(name, text);
    const std::string error = error_of([&] { read_labelled_texts(path, columns); });
    return error.starts_with(path) ? error.substr(path.size()) : error;
  }

  static Names texts(const std::vector<LabelledText>& rows) {
    Names texts;
    for (const LabelledText& row : rows) texts.push_back(row.text);
    return texts;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("labelled_" + std::to_string(getpid()));
  MaskingTokenizer bytes_{"bytes"};
};

TEST_F(LabelledTexts, AreTheSameInEveryFormat) {
  const std::string files[] = {
      write("a.csv",
            "\xEF\xBB\xBFid,text,label\r\n1,\"fine, \"\"really\"\"\",good\r\n2,dull,1\r\n"),
      write("a.tsv", "label\ttext\ngood\tfine, \"really\"\n1\tdull\n"),
      write("a.jsonl",
            "{\"text\": \"fine, \\\"really\\\"\", \"label\": \"good\"}\n"
            "{\"text\": \"dull\", \"label\": 1}\n")};
  for (const std::string& file : files) {
    const std::vector<LabelledText> rows = read_labelled_texts(file, {});
    ASSERT_EQ(rows.size(), 2u) << file;
    EXPECT_EQ(rows[0].text, "fine, \"really\"") << file;
    EXPECT_EQ(rows[0].pair, "");
    EXPECT_EQ(rows[0].label, "good");
    EXPECT_EQ(rows[1].label, "1");
    EXPECT_EQ(*rows[1].file, file);
  }
}

TEST_F(LabelledTexts, ColumnsAreChosenByName) {
  const std::string csv = write("a.csv", "question,answer,kind\nWhy?,So.,x\n");
  const std::vector<LabelledText> rows =
      read_labelled_texts(csv, {.text = "question", .label = "kind", .pair = "answer"});
  EXPECT_EQ(rows[0].text, "Why?");
  EXPECT_EQ(rows[0].pair, "So.");
  EXPECT_EQ(read_labelled_texts(write("b.csv", "text,text_b,label\na,b,x\n"), {})[0].pair, "b");
  const std::string json = write("b.jsonl",
                                 "{\"text\": \"a\", \"text_b\": \"b\", \"label\": true}\n"
                                 "{\"text\": \"a\", \"label\": true}\n");
  EXPECT_EQ(read_labelled_texts(json, {})[0].pair, "b");
  EXPECT_EQ(read_labelled_texts(json, {})[1].pair, "");
}

TEST_F(LabelledTexts, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(error_in("a.csv", "review,stars\nfine,5\n"),
            ":1: no column 'text'; there is review, stars; data.text_column says which it is");
  EXPECT_EQ(error_in("a.csv", "text,labels\nfine,5\n"),
            ":1: no column 'label'; did you mean 'labels'?; there is text, labels; "
            "data.label_column says which it is");
  EXPECT_EQ(error_in("a.csv", "text,label\nfine,5\n", {.pair = "other"}),
            ":1: no column 'other'; there is text, label; data.pair_column says which it is");
  EXPECT_EQ(error_in("a.csv", "text,label\n\"fine\nfilm\",5\nno, really,1\n"),
            ":4: 3 fields, expected 2 as in the first line");
  EXPECT_EQ(error_in("a.csv", "text,label\nfine,5\n,1\n"), ":3: no text, expected some");
  EXPECT_EQ(error_in("a.csv", "text,label\nfine,\n"),
            ":2: an empty label, expected a class's name");
  EXPECT_EQ(error_in("a.csv", "text,label\nfine,\"a\nb\"\n"),
            ":2: a label with control characters, or not in UTF-8, expected a class's name");
  EXPECT_EQ(error_in("a.csv", "text,label\nfine," + std::string(1001, 'x') + "\n"),
            ":2: a label of 1001 bytes, expected at most 1000");
  EXPECT_EQ(error_in("a.csv", "text,label\n\"fine,5\n"), ":2: a quote is opened and never closed");
  EXPECT_EQ(error_in("a.tsv", "text\tlabel\nfine\t1\n\n"),
            ":3: an empty line, expected an example");
  EXPECT_EQ(error_in("a.jsonl", "{\"text\": \"x\"}\n"), ":1: no \"label\" in this object");
  EXPECT_EQ(error_in("a.jsonl", "{\"text\": 3, \"label\": 1}\n"), ":1: \"text\" is no string");
  EXPECT_EQ(error_in("a.jsonl", "\n"), ":1: an empty line, expected an example");
  EXPECT_EQ(error_in("a.jsonl", "fine\n", {.text = "t"}),
            ":1: no JSON object, expected {\"t\": …, \"label\": …}");
  EXPECT_EQ(error_in("a.csv", "text,label\n"), ": there are no examples in it that can be read");
  EXPECT_EQ(error_in("a.csv", ""), ": there are no examples in it that can be read");
  EXPECT_EQ(error_in("a.txt", "text,label\n"),
            ": expected a file that ends in .csv, .tsv or .jsonl");
}

TEST_F(LabelledTexts, ThoseToBeSkippedKeepTheirError) {
  const std::string csv = write("a.csv", "text,label\nfine\nbad,1\nworse,2\n");
  const std::vector<LabelledText> rows = read_labelled_texts(csv, {}, Unreadable::kSkip);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].error, csv + ":2: 1 field, expected 2 as in the first line");
  const LabelledTextDataset dataset(rows, {"1"}, bytes_, 16, Unreadable::kSkip);
  Rng rng(0);
  EXPECT_EQ(error_of([&] { dataset.get(0, rng); }), rows[0].error);
  EXPECT_EQ(error_of([&] { dataset.get(2, rng); }), csv + ":4: label '2', expected one of 1");
  EXPECT_NO_THROW(dataset.get(1, rng));
}

TEST_F(LabelledTexts, AShareIsHeldOutOrAFileOfItsOwn) {
  std::string csv = "text,label\n";
  for (int i = 0; i < 10; ++i) csv += "t" + std::to_string(i) + ",x\n";
  const std::string file = write("a.csv", csv), folder = (folder_ / "set").string();
  const TextClassifierDataConfig share{.train = {file}, .held_out_share = 0.2};
  EXPECT_EQ(texts(labelled_split(share, Split::kEval)), (Names{"t4", "t9"}));
  EXPECT_EQ(labelled_split(share, Split::kTrain).size(), 8u);
  EXPECT_TRUE(labelled_split({.train = {file}, .held_out_share = 0.0}, Split::kEval).empty());

  write("set/train.csv", csv);
  write("set/test.tsv", "text\tlabel\nof test\tx\n");
  EXPECT_EQ(labelled_split({.train = {folder}}, Split::kEval).size(), 1u);  // a tenth of train
  EXPECT_EQ(texts(labelled_split({.held_out = {folder}}, Split::kEval)), Names{"of test"});
  write("set/val.jsonl", "{\"text\": \"of val\", \"label\": \"x\"}\n");
  EXPECT_EQ(texts(labelled_split({.train = {folder}}, Split::kEval)), Names{"of val"});
  EXPECT_EQ(texts(labelled_split({.held_out = {folder}}, Split::kEval)), Names{"of val"});
  EXPECT_EQ(labelled_split({.train = {folder}}, Split::kTrain).size(), 10u);
  EXPECT_EQ(labelled_split({.train = {folder, file}}, Split::kTrain).size(), 20u);
}

TEST_F(LabelledTexts, PlacesThatHaveNoneAreNamed) {
  const auto error = [](const TextClassifierDataConfig& config, Split split) {
    return error_of([&] { labelled_split(config, split); });
  };
  EXPECT_EQ(error({}, Split::kTrain),
            "data.train names no files; give .csv, .tsv or .jsonl files, or folders, with --data");
  EXPECT_EQ(
      error({}, Split::kEval),
      "data.held_out names no files; give .csv, .tsv or .jsonl files, or folders, with --data");
  EXPECT_EQ(error({.train = {"nowhere"}}, Split::kTrain), "nowhere: no such file or folder");
  const std::string folder = folder_.string();
  EXPECT_EQ(error({.train = {folder}}, Split::kTrain),
            folder + ": there is no train.csv, train.tsv or train.jsonl in this folder");
  EXPECT_EQ(error({.held_out = {folder}}, Split::kEval),
            folder + ": there is no dev, val or test in this folder, as .csv, .tsv or .jsonl");
  const std::string file = write("a.csv", "text,label\nfine,1\n");
  EXPECT_EQ(error({.train = {file}, .held_out_share = 0.1}, Split::kEval),
            file + ": data.held_out_share (0.1) of 1 texts leaves none to measure");
  EXPECT_EQ(error({.train = {file}, .held_out_share = 1.0}, Split::kTrain),
            file + ": data.held_out_share (1) of 1 texts leaves none to train on");
}

TEST_F(LabelledTexts, ClassesAreSortedNumbersByTheirValue) {
  const std::string words = write("w.csv", "text,label\na,good\nb,bad\nc,fine\nd,bad\n");
  EXPECT_EQ(text_classes({.train = {words}}, 3, {}), (Names{"bad", "fine", "good"}));
  const std::string numbers = write("n.csv", "text,label\na,10\nb,9\nc,-1\nd,9\n");
  EXPECT_EQ(text_classes({.train = {numbers}}, 3, {}), (Names{"-1", "9", "10"}));
  EXPECT_EQ(text_classes({.held_out = {numbers}}, 3, {}), (Names{"-1", "9", "10"}));
  EXPECT_EQ(text_classes({.held_out = {numbers}}, 2, {"b", "a"}), (Names{"b", "a"}));
  EXPECT_EQ(error_of([&] { text_classes({.train = {words}}, 2, {}); }),
            words +
                ": has 3 classes (bad, fine, good), the model has 2 (model.num_classes); set "
                "model.num_classes=3");
  EXPECT_EQ(error_of([&] { text_classes({.held_out = {words}}, 4, {}); }),
            words + ": has 3 classes (bad, fine, good), the model has 4 (model.num_classes)");
  std::string many = "text,label\n";
  for (int i = 0; i < 12; ++i) many += "t,c" + std::to_string(10 + i) + "\n";
  const std::string file = write("m.csv", many);
  EXPECT_EQ(error_of([&] { text_classes({.held_out = {file}}, 2, {}); }),
            file +
                ": has 12 classes (c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, 2 more), the "
                "model has 2 (model.num_classes)");
}

TEST_F(LabelledTexts, LabelsAreMatchedByName) {
  const std::string csv = write("a.csv", "text,label\nx,good\ny,bad\n");
  Rng rng(0);
  const LabelledTextDataset dataset(read_labelled_texts(csv, {}), {"good", "bad"}, bytes_, 16);
  EXPECT_EQ(dataset.get(0, rng).at("label").item<int64_t>(), 0);
  EXPECT_EQ(dataset.get(1, rng).at("label").item<int64_t>(), 1);
  EXPECT_EQ(error_of([&] {
              LabelledTextDataset(read_labelled_texts(csv, {}), {"good", "poor"}, bytes_, 16);
            }),
            csv + ":3: label 'bad', expected one of good, poor");
}

// As the task reads files, and as Hugging Face's tokenizer does.
TEST_F(LabelledTexts, TextsStandBetweenMarks) {
  const std::string csv = write("a.csv", "text,text_b,label\nab,,x\nab,cd,x\nabcdefgh,ij,x\n");
  const LabelledTextDataset dataset(read_labelled_texts(csv, {}), {"x"}, bytes_, 8);
  Rng rng(0);
  const auto expect_ids = [&](int64_t index, const std::vector<int64_t>& ids) {
    EXPECT_TRUE(dataset.get(index, rng).at("ids").equal(at::tensor(ids))) << index;
  };
  const auto id = [](char c) { return c + ByteTokenizer::kNumSpecial; };
  expect_ids(0, {4, id('a'), id('b'), 5});
  expect_ids(1, {4, id('a'), id('b'), 5, id('c'), id('d'), 5});
  expect_ids(2, {4, id('a'), id('b'), id('c'), 5, id('i'), id('j'), 5});
  const Example batch = dataset.batch({dataset.get(0, rng), dataset.get(1, rng)}, rng);
  EXPECT_EQ(batch.at("ids").sizes(), (std::vector<int64_t>{2, 7}));
  EXPECT_TRUE(batch.at("mask").sum(1).equal(at::tensor({4, 7})));
  EXPECT_TRUE(batch.at("label").equal(at::tensor({0, 0}, at::kLong)));
  EXPECT_EQ(error_of([&] { LabelledTextDataset({}, {"x"}, bytes_, 3); }),
            "model.num_inputs (3) must leave room for a text between [CLS] and [SEP]");
}

}  // namespace
}  // namespace perceiver
