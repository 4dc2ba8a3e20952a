#include "perceiver/tasks/glue/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/glue/files_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class GlueDataTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  GlueSplit split(const char* task, Split which, const GlueDataConfig& config) const {
    return glue_split(config, glue_benchmark(task), which);
  }
  static std::vector<std::string> texts(const std::vector<GlueRow>& rows) {
    std::vector<std::string> texts;
    for (const GlueRow& row : rows) texts.push_back(row.text_a + "|" + row.text_b);
    return texts;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("glue_data_" + std::to_string(getpid()));
  MaskingTokenizer bytes_{"bytes"};
};

TEST_F(GlueDataTest, ATenthIsHeldOutWhereThereIsNoDevFile) {
  write_glue(folder_, GlueLayout::kTsv, 30);
  const GlueDataConfig config{.train = {folder_.string()}};
  const GlueSplit train = split("qnli", Split::kTrain, config);
  const GlueSplit held_out = split("qnli", Split::kEval, config);
  EXPECT_EQ(train.rows.size(), 27u);
  ASSERT_EQ(held_out.rows.size(), 3u);
  EXPECT_EQ(held_out.rows[0].text_b, "b9");
  EXPECT_EQ(held_out.rows[2].text_b, "b29");
}

TEST_F(GlueDataTest, ADevFileLeavesAllOfTheTrainingFile) {
  write_glue(folder_, GlueLayout::kTsv, 30);
  const auto rows = easy_rows(glue_benchmark("mnli"), 5);
  write_file(folder_ / "MNLI" / "dev_matched.tsv", tsv_of(glue_benchmark("mnli"), 16, rows));
  write_file(folder_ / "MNLI" / "dev_mismatched.tsv",
             tsv_of(glue_benchmark("mnli"), 16, std::span(rows).first(2)));
  const GlueDataConfig config{.train = {folder_.string()}};
  EXPECT_EQ(split("mnli", Split::kTrain, config).rows.size(), 30u);
  const GlueSplit dev = split("mnli", Split::kEval, config);
  EXPECT_EQ(dev.rows.size(), 5u);
  EXPECT_EQ(dev.second.size(), 2u);
}

TEST_F(GlueDataTest, BothLayoutsHoldTheSameExamples) {
  write_glue(folder_ / "tsv", GlueLayout::kTsv, 20);
  write_glue(folder_ / "json", GlueLayout::kJsonLines, 20);
  for (const GlueBenchmark& benchmark : glue_benchmarks()) {
    for (const Split which : {Split::kTrain, Split::kEval}) {
      const GlueSplit a =
          split(benchmark.name.c_str(), which, {.train = {(folder_ / "tsv").string()}});
      const GlueSplit b =
          split(benchmark.name.c_str(), which, {.train = {(folder_ / "json").string()}});
      EXPECT_EQ(texts(a.rows), texts(b.rows)) << benchmark.name;
      for (size_t i = 0; i < a.rows.size(); ++i) EXPECT_EQ(a.rows[i].label, b.rows[i].label);
    }
  }
}

// 400 examples of one task and 100 of another: proportional 4 : 1, by the root 2 : 1.
TEST_F(GlueDataTest, SamplingSaysHowOftenATaskIsSeen) {
  std::vector<GlueSplit> splits(2);
  splits[0].rows = easy_rows(glue_benchmark("sst2"), 400);
  splits[1].rows = easy_rows(glue_benchmark("cola"), 100);
  const auto count_of_first = [&](GlueSampling sampling) {
    const GlueDataset dataset(splits, bytes_, 32, sampling);
    int64_t count = 0;
    for (int64_t i = 0; i < dataset.size(); ++i) {
      Rng rng(0, 0, static_cast<uint64_t>(i));
      count += dataset.get(i, rng).at("task").item<int64_t>() == 0;
    }
    return std::pair(count, dataset.size());
  };
  EXPECT_EQ(count_of_first(GlueSampling::kProportional), std::pair(400L, 500L));
  EXPECT_EQ(count_of_first(GlueSampling::kSquareRoot), std::pair(333L, 500L));
  EXPECT_EQ(count_of_first(GlueSampling::kEqual), std::pair(250L, 500L));
}

TEST_F(GlueDataTest, BatchesArePaddedToTheLongestTextRoundedUp) {
  std::vector<GlueSplit> splits(1);
  splits[0].rows = {{.text_a = "abc", .label = 1}, {.text_a = "abcdefghi", .label = 0}};
  const GlueDataset dataset(splits, bytes_, 32, GlueSampling::kProportional);
  Rng rng(0);
  const Example batch = dataset.batch({dataset.get(0, rng), dataset.get(1, rng)}, rng);
  EXPECT_EQ(batch.at("ids").sizes(), (std::vector<int64_t>{2, 12}));  // steps of 32 / 8
  EXPECT_TRUE(batch.at("mask").sum(1).equal(at::tensor({3, 9})));
  EXPECT_TRUE(batch.at("target").equal(at::tensor({1.0f, 0.0f})));
}

TEST_F(GlueDataTest, ARowThatCannotBeReadIsTheExamplesError) {
  std::vector<GlueSplit> splits(1);
  splits[0].rows = {{.error = "a.tsv:3: 1 columns, expected 2"}};
  const GlueDataset dataset(splits, bytes_, 32, GlueSampling::kProportional);
  EXPECT_EQ(error_of([&] {
              Rng rng(0);
              dataset.get(0, rng);
            }),
            "a.tsv:3: 1 columns, expected 2");
}

}  // namespace
}  // namespace perceiver
