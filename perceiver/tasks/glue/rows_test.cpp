#include "perceiver/tasks/glue/rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/glue/files_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class GlueRowsTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, text);
    return folder_ / name;
  }

  // What is wrong with the file, without its name.
  std::string error_in(const std::string& name, const std::string& text, const char* task) const {
    const fs::path path = write(name, text);
    const std::string error = error_of([&] { read_glue_rows(path, glue_benchmark(task)); });
    return error.starts_with(path.string()) ? error.substr(path.string().size()) : error;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("glue_rows_" + std::to_string(getpid()));
};

// The columns of GLUE's own files, by hand.
TEST_F(GlueRowsTest, OfficialColumnsAreRead) {
  struct Case {
    const char* task;
    std::string file, text_a, text_b;
    double label;
  };
  const Case cases[] = {
      {"cola", "gj04\t0\t*\tThem is happy.\n", "Them is happy.", "", 0},
      {"sst2", "sentence\tlabel\na \"fine\" film \t1\n", "a \"fine\" film ", "", 1},
      {"mrpc", "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tOne.\tTwo.\n",
       "One.", "Two.", 1},
      {"qqp", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n4\t5\t6\tWhy?\tHow?\t0\n",
       "Why?", "How?", 0},
      {"stsb",
       "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
       "0\tg\tf\t2012\t1\tn\tn\tA plane.\tA kite.\t2.400\n",
       "A plane.", "A kite.", 2.4},
      {"mnli",
       "index\tpromptID\tpairID\tgenre\tb1\tb2\tp1\tp2\tsentence1\tsentence2\tlabel1\tgold_label\n"
       "0\t1\t1n\tgov\t(\t(\t(\t(\tIt rains.\tIt is wet.\tneutral\tentailment\n",
       "It rains.", "It is wet.", 0},
      {"qnli", "index\tquestion\tsentence\tlabel\n0\tWho?\tHe.\tnot_entailment\r\n", "Who?", "He.",
       1},
      {"rte", "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tentailment", "A.", "B.", 0},
  };
  for (const Case& c : cases) {
    const std::vector<GlueRow> rows =
        read_glue_rows(write("train.tsv", c.file), glue_benchmark(c.task));
    ASSERT_EQ(rows.size(), 1u) << c.task;
    EXPECT_EQ(rows[0].text_a, c.text_a) << c.task;
    EXPECT_EQ(rows[0].text_b, c.text_b) << c.task;
    EXPECT_DOUBLE_EQ(rows[0].label, c.label) << c.task;
  }
}

TEST_F(GlueRowsTest, LabelsInJsonAreNumbersOrNames) {
  const std::vector<GlueRow> rows =
      read_glue_rows(write("train.jsonl",
                           "{\"text_a\": \"a\", \"text_b\": \"b\", \"label\": \"contradiction\"}\n"
                           "{\"text_a\": \"a\", \"text_b\": \"b\", \"label\": 1, \"id\": 4}\n"
                           "{\"text_a\": \"a\", \"text_b\": \"b\", \"label\": \"0\"}\n"),
                     glue_benchmark("mnli"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].label, 2.0);
  EXPECT_EQ(rows[1].label, 1.0);
  EXPECT_EQ(rows[2].label, 0.0);
}

TEST_F(GlueRowsTest, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(error_in("a.tsv", "gj04\t0\t*\tFine.\ngj04\t0\tFine.\n", "cola"),
            ":2: 3 columns, expected 4");
  EXPECT_EQ(error_in("a.tsv", "index\ta\tb\tlabel\n0\tx\ty\tentailment\n\n", "rte"),
            ":3: an empty line, expected an example");
  EXPECT_EQ(error_in("a.tsv", "index\ta\tb\tlabel\n0\tx\ty\tmaybe\n", "rte"),
            ":2: label 'maybe', expected entailment, not_entailment or a number from 0 to 1");
  EXPECT_EQ(error_in("a.tsv", "index\tlabel\n", "rte"),
            ":1: a header of 2 columns, expected 4 or more");
  EXPECT_EQ(error_in("a.tsv", "sentence\tlabel\nfine\t2\n", "sst2"),
            ":2: label '2', expected negative, positive or a number from 0 to 1");
  EXPECT_EQ(error_in("a.jsonl", "{\"text_a\": \"x\", \"text_b\": \"y\", \"label\": 5.5}\n", "stsb"),
            ":1: label '5.5', expected a number from 0 to 5");
  EXPECT_EQ(error_in("a.jsonl", "{\"text_a\": \"x\", \"label\": 0.5}\n", "sst2"),
            ":1: label '0.5', expected negative, positive or a number from 0 to 1");
  EXPECT_EQ(error_in("a.jsonl", "{\"text_a\": \"x\", \"label\": 1}\n", "rte"),
            ":1: no \"text_b\" in this object");
  EXPECT_EQ(error_in("a.jsonl", "{\"text_a\": 3, \"label\": 1}\n", "sst2"),
            ":1: \"text_a\" is no string");
  EXPECT_EQ(error_in("a.jsonl", "{\"text_a\": \"x\"", "sst2"),
            ":1: no JSON object, expected {\"text_a\": …, \"label\": …}");
  EXPECT_EQ(error_in("a.tsv", "sentence\tlabel\n", "sst2"),
            ": there are no examples in it that can be read");
}

TEST_F(GlueRowsTest, RowsToBeSkippedKeepTheirError) {
  const fs::path path = write("train.tsv", "sentence\tlabel\nfine\t1\nbad\n");
  const std::vector<GlueRow> rows = read_glue_rows(path, glue_benchmark("sst2"), Unreadable::kSkip);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].error, "");
  EXPECT_EQ(rows[1].error, path.string() + ":3: 1 columns, expected 2");
}

TEST_F(GlueRowsTest, FoldersAreFoundByTheTasksTheyAreNamedAfter) {
  EXPECT_EQ(benchmark_of_folder("SST-2"), &glue_benchmark("sst2"));
  EXPECT_EQ(benchmark_of_folder("STS-B"), &glue_benchmark("stsb"));
  EXPECT_EQ(benchmark_of_folder("mnli_10k"), &glue_benchmark("mnli"));
  EXPECT_EQ(benchmark_of_folder("WNLI"), nullptr);

  write("glue/MNLI/train.tsv", "");
  write("glue/MNLI/dev_matched.tsv", "");
  write("glue/MNLI/dev_mismatched.tsv", "");
  write("glue/rte_small/train.jsonl", "");
  const GlueFiles mnli = find_glue_files(folder_ / "glue", glue_benchmark("mnli"));
  EXPECT_EQ(mnli.dev.filename(), "dev_matched.tsv");
  EXPECT_EQ(mnli.dev_mismatched.filename(), "dev_mismatched.tsv");
  const GlueFiles own = find_glue_files(folder_ / "glue" / "rte_small", glue_benchmark("rte"));
  EXPECT_EQ(own.train.filename(), "train.jsonl");
  EXPECT_TRUE(own.dev.empty());

  const std::string root = (folder_ / "glue").string();
  EXPECT_EQ(error_of([&] { find_glue_files(root, glue_benchmark("cola")); }),
            root +
                ": no folder of the task cola, such as cola/train.tsv; there is MNLI, "
                "rte_small; model.tasks says which tasks are wanted");
  write("glue/RTE/train.tsv", "");
  EXPECT_EQ(error_of([&] { find_glue_files(root, glue_benchmark("rte")); }),
            root + ": two folders of the task rte: RTE and rte_small; keep one");
  EXPECT_EQ(error_of([&] { find_glue_files(root + "s", glue_benchmark("rte")); }),
            root + "s: no such folder, expected GLUE's, with one for each task");
}

}  // namespace
}  // namespace perceiver
