#include "perceiver/data/labelled_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

bool is_clip(const fs::path& file) {
  return file.extension() == ".mp4" || file.extension() == ".flac";
}

class LabelledFilesTest : public testing::Test {
 protected:
  LabelledFilesTest() { fs::create_directories(folder_); }
  ~LabelledFilesTest() override { fs::remove_all(folder_); }

  void add(const std::string& name, const std::string& text = "x") const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, text);
  }

  std::string here(const std::string& name = "") const {
    return name.empty() ? folder_.string() : (folder_ / name).string();
  }

  // "a/b.mp4: label, label" of each row, or its error.
  static std::vector<std::string> told(const LabelledFilesConfig& config, DataPart part,
                                       const fs::path& folder) {
    std::vector<std::string> all;
    for (const LabelledRow& row : labelled_rows(config, part, is_clip)) {
      std::string text = row.error;
      if (text.empty()) {
        text = row.path.lexically_normal().lexically_relative(folder).string() + ":";
        for (const std::string& label : row.labels) text += " " + label;
        if (row.end > 0.0) text += fmt::format(" {} to {}", row.start, row.end);
      }
      all.push_back(text);
    }
    return all;
  }
  std::vector<std::string> train(const LabelledFilesConfig& config) const {
    return told(config, DataPart::kTrain, folder_);
  }
  std::vector<std::string> held_out(const LabelledFilesConfig& config) const {
    return told(config, DataPart::kHeldOut, folder_);
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("labelled_files_" + std::to_string(getpid()));
};

using Rows = std::vector<std::string>;

TEST_F(LabelledFilesTest, FoldersAreClasses) {
  add("dog/b.mp4");
  add("cat/a.mp4");
  add("cat/note.txt");
  EXPECT_EQ(train({.train = {here()}}), (Rows{"cat/a.mp4: cat", "dog/b.mp4: dog"}));
  EXPECT_TRUE(held_out({.train = {here()}}).empty());
}

TEST_F(LabelledFilesTest, FoldersOfSplitsHoldFoldersOfClasses) {
  add("train/cat/a.mp4");
  add("validate/cat/b.mp4");
  add("test/cat/c.mp4");
  EXPECT_EQ(train({.train = {here()}}), Rows{"train/cat/a.mp4: cat"});
  EXPECT_EQ(held_out({.train = {here()}}), Rows{"validate/cat/b.mp4: cat"});
  EXPECT_EQ(held_out({.held_out = {here()}}), Rows{"validate/cat/b.mp4: cat"});
}

// The layout of the data set's own csv, and of its usual downloaders.
TEST_F(LabelledFilesTest, KineticsTableFindsClipsByVideoAndTime) {
  add("riding a bike/-abc_000010_000020.mp4");
  add("val/waving_hand/xyz.mp4");
  add("k700.csv",
      "label,youtube_id,time_start,time_end,split\nriding a bike,-abc,10,20,train\n"
      "waving hand,xyz,3,13,validate\nwaving hand,gone,3,13,train\n");
  EXPECT_EQ(train({.train = {here("k700.csv")}}),
            (Rows{"riding a bike/-abc_000010_000020.mp4: riding a bike",
                  here("k700.csv") + ":4: 'gone' is not in " + here() +
                      " or below, expected a file called so or 'gone_000003_000013'"}));
  EXPECT_EQ(held_out({.train = {here()}}), Rows{"val/waving_hand/xyz.mp4: waving hand"});
  EXPECT_EQ(held_out({.train = {here()}, .whole_videos = true}),
            Rows{"val/waving_hand/xyz.mp4: waving hand 3 to 13"});
}

// The first lines of eval_segments.csv, in its form.
TEST_F(LabelledFilesTest, AudioSetTableHasCommentsAndSeveralLabels) {
  add("--4gqARaEJE.flac");
  add("--BfvyPmVMo_20.000_30.000.flac");
  add("Y--U7joUcTCo.flac");
  add("eval.csv",
      "# Segments csv created Sun Mar  5 10:54:25 2017\n# num_ytids=3\n"
      "# YTID, start_seconds, end_seconds, positive_labels\n"
      "--4gqARaEJE, 0.000, 10.000, \"/m/068hy,/m/07q6cd_\"\n"
      "--BfvyPmVMo, 20.000, 30.000, \"/m/03l9g\"\n"
      "--U7joUcTCo, 0.000, 10.000, \"/m/01b_21\"\n"
      "--U7joUcTCo, 0.000\n--U7joUcTCo, x, 10.000, \"/m/01b_21\"\n--U7joUcTCo, 0, 10, \"\"\n");
  const std::string table = here("eval.csv");
  EXPECT_EQ(train({.train = {table}}),
            (Rows{"--4gqARaEJE.flac: /m/068hy /m/07q6cd_",
                  "--BfvyPmVMo_20.000_30.000.flac: /m/03l9g", "Y--U7joUcTCo.flac: /m/01b_21",
                  table + ":7: 2 fields, expected 4: YTID, start, end, \"label,label\"",
                  table + ":8: start is 'x', expected a number of seconds",
                  table + ":9: no label in the column 'labels', expected a class"}));
}

TEST_F(LabelledFilesTest, AnyTableWithFilesAndLabelsIsRead) {
  add("1-a.flac");
  add("sub/2-b.mp4");
  add("my.csv",
      "filename,fold,category,esc10,start,end\n1-a.wav,1,\"dog, small\",True,0,0\n"
      "sub/2-b,2,cat,True,1.5,2\n2-b.mp4,1,cow,False,0,0\n");
  const LabelledFilesConfig config = {
      .train = {here()}, .rows = "esc10=True", .held_out_rows = "fold=2,3"};
  EXPECT_EQ(train(config), Rows{"1-a.flac: dog, small"});
  EXPECT_EQ(held_out(config), Rows{"sub/2-b.mp4: cat 1.5 to 2"});
}

TEST_F(LabelledFilesTest, ATableMayLieBesideTheFolder) {
  add("audio/a.mp4");
  add("meta.csv", "file,labels\na.mp4,x;y\n");
  EXPECT_EQ(train({.train = {here("audio")}, .table = "meta.csv"}), Rows{"audio/a.mp4: x y"});
}

TEST_F(LabelledFilesTest, NamesAreReadByAPattern) {
  add("7_jackson_32.mp4");
  add("8_theo_b_5.mp4");
  const LabelledFilesConfig config = {
      .train = {here()}, .pattern = "{label}_{speaker}_{take}", .held_out_rows = "take=32"};
  EXPECT_EQ(train(config), Rows{"8_theo_b_5.mp4: 8"});
  EXPECT_EQ(held_out(config), Rows{"7_jackson_32.mp4: 7"});
  add("x.mp4");
  EXPECT_EQ(train(config).at(1), here("x.mp4") + ": the name is not as data.pattern says");
}

TEST_F(LabelledFilesTest, SomeOfEachClassAreHeldOutEvenly) {
  for (int i = 0; i < 6; ++i) add(fmt::format("cat/{}.mp4", i));
  for (int i = 0; i < 3; ++i) add(fmt::format("dog/{}.mp4", i));
  const LabelledFilesConfig config = {.train = {here()}, .held_out_per_class = 2};
  EXPECT_EQ(held_out(config),
            (Rows{"cat/2.mp4: cat", "cat/5.mp4: cat", "dog/1.mp4: dog", "dog/2.mp4: dog"}));
  EXPECT_EQ(train(config).size(), 5);
  // The same folder, measured on by name, is not measured on what was trained on.
  LabelledFilesConfig named = config;
  named.held_out = {here(".")};
  EXPECT_EQ(held_out(named), held_out(config));
  EXPECT_EQ(error_of([&] { train({.train = {here()}, .held_out_per_class = 3}); }),
            here() +
                ": 'dog' has 3 files, none to train on when data.held_out_per_class (3) are "
                "held out");
}

TEST_F(LabelledFilesTest, MistakesAreNamed) {
  const auto error = [&](const LabelledFilesConfig& config) {
    return error_of([&] { train(config); });
  };
  EXPECT_EQ(error({}), "data.train names no folder; give one with --data");
  EXPECT_EQ(
      error({.train = {here("none")}}),
      here("none") +
          ": is no folder and no table (.csv), expected one with files to train or measure on");
  EXPECT_EQ(error({.train = {here()}}),
            here() +
                ": there are no files of this task in it, expected a table (.csv), a folder "
                "for each class, or names that data.pattern reads");
  add("a.mp4");
  add("t.csv", "clip,colour\na,red\n");
  EXPECT_EQ(error({.train = {here()}}), here() +
                                            ": no column of classes; there is clip, colour; "
                                            "data.label says which it is");
  EXPECT_EQ(error({.train = {here()}, .label = "color"}),
            here() +
                ": no column 'color'; did you mean 'colour'?; there is clip, colour; "
                "data.label says which it is");
  EXPECT_EQ(error({.train = {here()}, .label = "colour", .rows = "fold"}),
            "data.rows is 'fold', expected a column and its values, such as fold=4,5");
  EXPECT_EQ(error({.train = {here()}, .label = "colour", .rows = "colour=blue"}),
            here() + ": no row has colour=blue (data.rows)");
  EXPECT_EQ(error({.train = {here()}, .label = "colour", .held_out_rows = "colour=red"}),
            here() + ": everything is held out, nothing is left to train on");
  EXPECT_EQ(error({.train = {here()}, .table = "u.csv"}),
            "data.table is 'u.csv', which is neither here nor in " + here() + " nor beside it");
  add("t.csv", "clip,label\nb,red\nc,red\n");
  EXPECT_EQ(error({.train = {here()}}),
            here("t.csv") + ":2: 'b' is not in " + here() +
                " or below, expected a file of this name; so it is with all 2 rows");
  add("t.csv", "name,label\na,red\n");
  EXPECT_EQ(error({.train = {here()}}),
            here("t.csv") +
                ":1: columns name, label, expected one of files among them, called "
                "file, filename, path, clip, video, audio");
  add("t.csv", "");
  EXPECT_EQ(error({.train = {here()}}),
            here("t.csv") + ": is empty, expected a line for each file");
  add("t.csv", "clip,label\n");
  EXPECT_EQ(error({.train = {here()}}),
            here("t.csv") + ": has no rows, expected one for each file");
  add("u.csv", "clip,label\na,red\n");
  EXPECT_EQ(error({.train = {here()}}),
            here() + ": has several tables, t.csv and u.csv; data.table says which it is");
  EXPECT_EQ(error({.train = {here()}, .pattern = "label"}),
            "data.pattern is 'label', expected a column in braces, such as {label}_{take}");
  EXPECT_EQ(error({.train = {here()}, .pattern = "{a}{b}"}),
            "data.pattern is '{a}{b}', expected columns in braces with text between them, such as "
            "{label}_{speaker}_{take}");
}

TEST_F(LabelledFilesTest, RowsThatCannotBeUsedKeepTheirReason) {
  add("one/a.mp4");
  add("two/a.mp4");
  add("b.mp4");
  add("t.csv",
      "file,label,start,end\nb.mp4,red,0,0\na.mp4,red,0,0\ntwo/a,red,0,0\nb.mp4,,0,0\nb.mp4\n\n"
      ",red,0,0\nb.mp4,red,3,2\n");
  const std::string table = here("t.csv");
  EXPECT_EQ(train({.train = {here()}}),
            (Rows{"b.mp4: red",
                  table + ":3: 'a.mp4' may be " + here("one/a.mp4") + " or " + here("two/a.mp4") +
                      ", expected one file; name its folder too",
                  "two/a.mp4: red", table + ":5: no label in the column 'label', expected a class",
                  table + ":6: 1 field, expected 4 as in the first line",
                  table + ":7: an empty line, expected an example",
                  table + ":8: no name of a file, expected one",
                  table + ":9: end is 2, expected a time after start, 3"}));
}

TEST_F(LabelledFilesTest, ClassesAreTheModelsWhereItHasNames) {
  add("dog/b.mp4");
  add("cat/a.mp4");
  const std::vector<LabelledRow> rows =
      labelled_rows({.train = {here()}}, DataPart::kTrain, is_clip);
  EXPECT_EQ(class_names(rows), (Rows{"cat", "dog"}));
  EXPECT_EQ(class_names(rows, {"dog", "cow", "cat"}), (Rows{"dog", "cow", "cat"}));
  EXPECT_EQ(error_of([&] {
              class_names(rows, {"cow", "cat"});
            }),
            here("dog/b.mp4") +
                ": labels and the model's classes must have the same names; labels without a "
                "class: 'dog'; the model's classes: 'cat', 'cow'");
  const ClassNumbers numbers({"dog", "cat"});
  EXPECT_EQ(numbers.of(rows[0]), std::vector<int64_t>{1});
  EXPECT_EQ(error_of([&] { numbers.of({.labels = {"dot"}, .place = "t.csv:2"}); }),
            "t.csv:2: 'dot' is none of the classes; did you mean 'dog'?");
}

}  // namespace
}  // namespace perceiver
