#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/files_test.h"
#include "perceiver/tasks/arrays/table.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {
namespace {

class Csv : public ArrayFiles {
 protected:
  std::string table(const std::string& name, const std::string& text) const {
    write_file(folder / name, text);
    return (folder / name).string();
  }
  std::string error_with(const std::string& text) const {
    const std::string path = table("a.csv", text);
    return error_of([&] { read_csv_tables({path}, {"a", "b"}, {}, {}); });
  }
};

TEST_F(Csv, ColumnsAreNumbersOrWordsAndSomeAreMissing) {
  const std::string path =
      table("a.csv", "a, b,unused\n1.5, red ,x\n?,NA,y\n-2e3,\"green, dark\",z\n");
  const ArrayTable read = read_csv_tables({path}, {"a", "b"}, {}, {})[0];
  EXPECT_EQ(read.array("a")[0].item<double>(), 1.5);
  EXPECT_TRUE(read.array("a")[1].isnan().item<bool>());
  EXPECT_EQ(read.array("a")[2].item<double>(), -2000.0);
  EXPECT_EQ(read.words.at("b"), (std::vector<std::string>{"green, dark", "red"}));
  EXPECT_TRUE(read.array("b").equal(at::tensor({1, -1, 0}, at::kLong)));
  EXPECT_FALSE(read.arrays.contains("unused"));
  EXPECT_EQ(read.examples.size(), 3u);
}

TEST_F(Csv, KnownWordsKeepTheirNumbersAndOthersHaveNone) {
  const std::string path = table("a.tsv", "b\n7\nred\nblue\n");
  const ArrayTable read = read_csv_tables({path}, {"b"}, {{"b", {"red", "7"}}}, {})[0];
  EXPECT_TRUE(read.array("b").equal(at::tensor({1, 0, -1}, at::kLong)));
}

TEST_F(Csv, WordsOfSeveralFilesAreNumberedAlike) {
  const std::string one = table("a.csv", "b\nred\n"), two = table("b.csv", "b\ngreen\n");
  const auto tables = read_csv_tables({one, two}, {"b"}, {}, {});
  EXPECT_EQ(tables[0].array("b").item<int64_t>(), 1);
  EXPECT_EQ(tables[1].array("b").item<int64_t>(), 0);
}

TEST_F(Csv, WindowsFollowTheOrderWithinTheirGroups) {
  const std::string path = table("a.csv",
                                 "when,who,a\n2020-01-03,x,3\n2020-01-01,x,1\n2020-01-02,x,2\n"
                                 "2020-01-01,y,10\n2020-01-02,y,20\n2020-01-03,y,30\n");
  const TableWindow window = {.rows = 2, .order = "when", .group = "who"};
  const ArrayTable read = read_csv_tables({path}, {"a"}, {}, window)[0];
  const std::vector<std::vector<double>> expected = {{1, 2}, {2, 3}, {10, 20}, {20, 30}};
  ASSERT_EQ(read.examples.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(read.array("a")[read.examples[i]].equal(at::tensor(expected[i], at::kDouble))) << i;
  }
}

TEST_F(Csv, NoRowIsBothTrainedOnAndMeasuredWhereThereAreWindows) {
  std::string text = "a,who\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},{}\n", i, i / 50);
  const TableWindow window = {.rows = 5, .stride = 2, .group = "who"};
  std::set<double> rows[2];
  for (const bool held_out : {false, true}) {
    ArrayTables tables(read_csv_tables({table("a.csv", text)}, {"a"}, {}, window));
    tables.keep(0.2, held_out);
    EXPECT_GT(tables.size(), 5);
    for (int64_t i = 0; i < tables.size(); ++i) {
      const auto [of, row] = tables.at(i);
      for (int64_t r = 0; r < 5; ++r) rows[held_out].insert(of.array("a")[row][r].item<double>());
    }
  }
  for (const double row : rows[1]) {
    EXPECT_FALSE(rows[0].contains(row)) << row;
    EXPECT_GE(static_cast<int>(row) % 50, 40) << "the last fifth of its group";
  }
}

TEST_F(Csv, ATableOfMixedColumnsIsLearned) {
  std::string text = "age,work,rich\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("{},{},{}\n", 20 + i, i % 3 ? "farm" : "shop", i % 2 ? "no" : "yes");
  }
  const auto settings =
      read_settings(arrays_config("[inputs.person]\nelement = 'column'\n"
                                  "fields = [{number = 'age'}, {category = 'work'}]\n"
                                  "[queries.rich]\nloss = 'cross_entropy'\n",
                                  table("a.csv", text)));
  const ArraysConfig& config = *settings->model<ArraysConfig>();
  EXPECT_EQ(config.inputs.at("person").parts[1].words, (std::vector<std::string>{"farm", "shop"}));
  EXPECT_EQ(config.queries.at("rich").names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(config.queries.at("rich").classes, 2);
  const std::string other = table("b.csv", "age,work\n30,shop\n30,mine\n");
  const ArrayTables tables =
      read_tables({other}, needed_arrays(config, /*targets=*/false), config, {});
  EXPECT_TRUE(tables.tables()[0].array("work").equal(at::tensor({1, -1}, at::kLong)));
}

TEST_F(Csv, MistakesAreNamedWithTheirLine) {
  const std::string path = (folder / "a.csv").string();
  EXPECT_EQ(error_with(""), path + ": is empty, expected a line with the names of the columns");
  EXPECT_EQ(error_with("1,2\n3,4\n"), path + ":1: are numbers, expected the names of the columns");
  EXPECT_EQ(error_with("a,c\n3,4\n"),
            path + ": has no column 'b'; did you mean 'a'?; there are a, c");
  EXPECT_EQ(error_with("a,b\n3,4\n5\n"), path + ":3: 1 fields, expected 2 as in the first line");
  EXPECT_EQ(error_with("a,b\n"), path + ": has no rows");
  EXPECT_EQ(error_with("a,b\n\"3,4\n"), path + ":2: a quote is opened and never closed");
  table("a.csv", "a,b\n1,2\n");
  EXPECT_EQ(error_of([&] { read_csv_tables({path}, {"a"}, {}, {.rows = 2}); }),
            path + ": 1 rows, a window takes 2 (data.window.rows)");
  table("a.csv", "x,y\n1,red\n2,blue\n3,red\n");
  EXPECT_EQ(error_of([&] {
              read_settings(arrays_config(
                  "[inputs.i]\narray = ['x', 'y']\n[queries.q]\ntarget = 'x'\n", path));
            }),
            "x.toml: " + path +
                ": column 'y' has words such as 'blue', expected numbers; make it a field of its "
                "own, {category = 'y'}");
}

TEST_F(Csv, TextsAreBytes) {
  const std::string path = table("a.csv", "text,y\nabc,0\n\xc3\xa9,1\nlonger than that,0\n,1\n");
  const auto settings = read_settings(arrays_config(
      "data.held_out_share = 0.0\n[inputs.text]\nbytes = 5\n[queries.y]\nloss = "
      "'cross_entropy'\n[queries.text]\nlike = 'text'\nfields = [{position = 'learned'}]\n"
      "loss = 'cross_entropy'\nclasses = 256\n",
      path));
  const ArraysConfig& config = *settings->model<ArraysConfig>();
  EXPECT_EQ(config.inputs.at("text").shape, std::vector<int64_t>{5});
  const ArrayTables tables =
      read_tables({path}, needed_arrays(config, /*targets=*/true), config, {});
  const ExampleMaker maker(config);
  const auto example = [&](int64_t row) {
    Rng rng(0);
    return maker.make(tables.tables()[0], row, rng, ExampleUse::kTrain);
  };
  const Example first = example(0), second = example(1), third = example(2);
  EXPECT_TRUE(
      first.at("inputs.text.0").flatten().equal(at::tensor({97, 98, 99, 256, 256}, at::kLong)));
  EXPECT_TRUE(first.at("inputs.text.mask").equal(at::tensor({1, 1, 1, 0, 0}).to(at::kBool)));
  EXPECT_TRUE(
      first.at("queries.text.target").flatten().equal(at::tensor({97, 98, 99, -1, -1}, at::kLong)));
  EXPECT_EQ(second.at("inputs.text.0")[0].item<int64_t>(), 0xc3);
  EXPECT_TRUE(third.at("inputs.text.mask").all().item<bool>());
  EXPECT_EQ(error_of([&] { example(3); }),
            path + ": example 3: every element of its inputs is missing");
}

}  // namespace
}  // namespace perceiver
