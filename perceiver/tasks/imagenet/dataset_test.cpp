#include "perceiver/tasks/imagenet/dataset.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/imagenet/data.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~ImageFolderTest() override { fs::remove_all(root_); }

  // A picture of a single level.
  void add(const std::string& name, int64_t level = 0, int64_t size = 8) {
    fs::create_directories((root_ / name).parent_path());
    write_file(root_ / name, encode_png(at::full({3, size, size}, level, at::kByte)));
  }
  void add_classes(const std::string& folder, int64_t pictures) {
    for (const std::string name : {"cat", "ant"}) {
      for (int64_t i = 0; i < pictures; ++i) {
        add(fmt::format("{}/{}/{}.png", folder, name, i), name == "cat" ? 200 + i : i);
      }
    }
  }

  std::string path(const std::string& name) const { return (root_ / name).string(); }

  // "ant/0.png:0", in order
  std::vector<std::string> names(const std::vector<LabelledFile>& files) const {
    std::vector<std::string> names;
    for (const auto& [path, labels, error] : files) {
      names.push_back(fmt::format("{}/{}:{}", path.parent_path().filename().string(),
                                  path.filename().string(), labels.at(0)));
    }
    return names;
  }

  fs::path root_ = fs::path(testing::TempDir()) / "perceiver_image_folder";
};

using Names = std::vector<std::string>;

TEST_F(ImageFolderTest, ClassesAreFoldersInTheOrderOfTheirNames) {
  add_classes("a", 2);
  std::ofstream(root_ / "a" / "readme.txt") << "no class";
  std::ofstream(root_ / "a" / "ant" / "notes.txt") << "no picture";
  fs::create_directory(root_ / "a" / ".thumbnails");
  const ImageFolders folders{.train = {path("a")}};
  EXPECT_EQ(class_names(folders, 2), (Names{"ant", "cat"}));
  EXPECT_EQ(names(train_files(folders, class_names(folders, 2))),
            (Names{"ant/0.png:0", "ant/1.png:0", "cat/0.png:1", "cat/1.png:1"}));
  EXPECT_TRUE(held_out_files(folders, class_names(folders, 2)).empty());
}

TEST_F(ImageFolderTest, TheLastOfEachClassAreHeldOut) {
  add_classes("a", 3);
  const ImageFolders folders{.train = {path("a")}, .held_out_per_class = 1};
  EXPECT_EQ(names(train_files(folders, class_names(folders, 2))),
            (Names{"ant/0.png:0", "ant/1.png:0", "cat/0.png:1", "cat/1.png:1"}));
  EXPECT_EQ(names(held_out_files(folders, class_names(folders, 2))),
            (Names{"ant/2.png:0", "cat/2.png:1"}));
}

TEST_F(ImageFolderTest, TrainAndValInOneFolderAreFound) {
  add_classes("imagenet/train", 2);
  add("imagenet/val/cat/x.png");
  const ImageFolders folders{.train = {path("imagenet")}};
  EXPECT_EQ(train_files(folders, class_names(folders, 2)).size(), 4u);
  EXPECT_EQ(names(held_out_files(folders, class_names(folders, 2))), (Names{"cat/x.png:1"}));
}

TEST_F(ImageFolderTest, TrainMayBeAClass) {
  add("a/train/0.png");
  add("a/ship/0.png");
  const ImageFolders folders{.train = {path("a")}};
  EXPECT_EQ(class_names(folders, 2), (Names{"ship", "train"}));
}

TEST_F(ImageFolderTest, SeveralFoldersAddUp) {
  add_classes("a", 1);
  add("b/bee/0.png");
  const ImageFolders folders{.train = {path("a"), path("b")}};
  EXPECT_EQ(names(train_files(folders, class_names(folders, 3))),
            (Names{"ant/0.png:0", "cat/0.png:2", "bee/0.png:1"}));
}

TEST_F(ImageFolderTest, HeldOutFoldersNameTheClassesWhereTrainingDataIsNotAtHand) {
  add_classes("b", 1);
  const ImageFolders folders{.train = {path("gone")}, .held_out = {path("b")}};
  EXPECT_EQ(names(held_out_files(folders, class_names(folders, 2))),
            (Names{"ant/0.png:0", "cat/0.png:1"}));
}

TEST_F(ImageFolderTest, WhereTheModelHasNamesTheyGiveTheLabels) {
  add_classes("a", 1);
  const ImageFolders folders{.held_out = {path("a")}};
  const Names labels = {"cat", "ant"};
  EXPECT_EQ(class_names(folders, 2, labels), labels);
  EXPECT_EQ(names(held_out_files(folders, labels)), (Names{"ant/0.png:1", "cat/0.png:0"}));
  EXPECT_EQ(error_of([&] {
              class_names(folders, 2, {"ant", "lion"});
            }),
            path("a") +
                ": folders and the model's classes must have the same names; folders without a "
                "class: 'cat'; classes without a folder: 'lion'");
}

TEST_F(ImageFolderTest, FoldersNumberedAsInImageNetAreTakenInTheirOrder) {
  add("a/n02119789/0.png");
  add("a/n01440764/0.png");
  EXPECT_EQ(class_names({.held_out = {path("a")}}, 2, {"tench", "kit fox"}),
            (Names{"n01440764", "n02119789"}));
}

TEST_F(ImageFolderTest, SaysWhatIsWrongWithAFolder) {
  EXPECT_EQ(error_of([&] { class_names({}, 2); }),
            "data.train names no folder; give one that has a folder for each class with --data");
  const ImageFolders gone{.train = {path("gone")}};
  EXPECT_EQ(error_of([&] { train_files(gone, class_names(gone, 2)); }),
            path("gone") + ": no such folder");
  const ImageFolders empty{.train = {root_.string()}};
  EXPECT_EQ(
      error_of([&] { train_files(empty, class_names(empty, 2)); }),
      root_.string() + ": there are no folders in it, expected one for each class, with pictures");
  add_classes("a", 2);
  const ImageFolders two{.train = {path("a")}};
  EXPECT_EQ(error_of([&] { train_files(two, class_names(two, 10)); }),
            path("a") + ": has folders of 2 classes, the model has 10 (model.num_classes)");
  EXPECT_EQ(error_of([&] { train_files(two, class_names(two, 1)); }),
            path("a") + ": has folders of 2 classes, the model has 1 (model.num_classes)");
  const ImageFolders all{.train = {path("a")}, .held_out_per_class = 2};
  EXPECT_EQ(error_of([&] { train_files(all, class_names(all, 2)); }),
            path("a/ant") +
                ": has 2 pictures, none to train on when data.held_out_per_class (2) are held out");
  add("b/dog/0.png");
  const ImageFolders other{.train = {path("a")}, .held_out = {path("b")}};
  EXPECT_EQ(error_of([&] { held_out_files(other, class_names(other, 2)); }),
            path("b") +
                ": folders and the model's classes must have the same names; folders without a "
                "class: 'dog'; classes without a folder: 'ant', 'cat'");
  fs::create_directory(root_ / "a" / "empty");
  EXPECT_EQ(error_of([&] { train_files(two, class_names(two, 3)); }),
            path("a/empty") +
                ": no picture in it, expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
}

// ImageNet's `val` as it is unpacked, with each of the files of labels that go round.
TEST_F(ImageFolderTest, AFlatValIsReadByItsFileOfLabels) {
  add("imagenet/train/n01440764/a.png");
  add("imagenet/train/n02119789/b.png");
  for (const char* name : {"1", "2", "3"}) add(fmt::format("imagenet/val/ILSVRC_{}.png", name));
  const ImageFolders both{.train = {path("imagenet")}};
  const ImageFolders alone{.held_out = {path("imagenet/val")}};
  const Names expected = {"val/ILSVRC_1.png:1", "val/ILSVRC_2.png:0", "val/ILSVRC_3.png:1"};
  const std::pair<const char*, const char*> kFiles[] = {
      {"val.txt", "ILSVRC_1.JPEG 1\nILSVRC_2.JPEG 0\nILSVRC_3.JPEG 1\nILSVRC_4.JPEG 0\n"},
      {"val/val.txt",
       "ILSVRC_3.JPEG n02119789\nILSVRC_2.JPEG n01440764\nILSVRC_1.JPEG n02119789\n"},
      {"LOC_val_solution.csv",
       "ImageId,PredictionString\nILSVRC_2,n01440764 111 108 9 4 n01440764 1 2 3 4 \n"
       "ILSVRC_1,n02119789 1 2 3 4 \nILSVRC_3,n02119789 1 2 3 4 \n"},
      {"imagenet_2012_validation_synset_labels.txt", "n02119789\nn01440764\nn02119789\n"}};
  for (const auto& [name, text] : kFiles) {
    write_file(root_ / "imagenet" / name, text);
    EXPECT_EQ(names(held_out_files(both, class_names(both, 2))), expected) << name;
    EXPECT_EQ(names(held_out_files(alone, class_names(alone, 2, {"tench", "kit fox"}))), expected)
        << name;
    fs::remove(root_ / "imagenet" / name);
  }
  write_file(root_ / "my.txt", "n02119789\nn01440764\nn02119789\n");
  ImageFolders named = both;
  named.val_labels = {path("my.txt")};
  EXPECT_EQ(names(held_out_files(named, class_names(named, 2))), expected);
}

TEST_F(ImageFolderTest, AFlatValWithoutLabelsOrWithWrongOnesSaysSo) {
  add("a/train/n01440764/a.png");
  add("a/val/1.png");
  add("a/val/2.png");
  const std::string val = path("a/val"), labels = path("a/val.txt");
  ImageFolders folders{.train = {path("a")}};
  const auto complaint = [&](const std::string& text) {
    write_file(labels, text);
    return error_of([&] { held_out_files(folders, class_names(folders, 1)); });
  };
  EXPECT_EQ(error_of([&] { held_out_files(folders, class_names(folders, 1)); }),
            val +
                ": has pictures and no folders of classes, and neither val.txt nor "
                "LOC_val_solution.csv nor imagenet_2012_validation_synset_labels.txt is in it or "
                "beside it; data.val_labels names the file that says which class each is of");
  EXPECT_EQ(complaint(""), labels + ": is empty, expected a line for each picture");
  EXPECT_EQ(complaint("1.JPEG 0\n"), labels + ": has no line for " + val + "/2.png");
  EXPECT_EQ(complaint("1.JPEG 0\n2.JPEG 1\n"), labels + ": class 1 of 2.png, expected 0 to 0");
  EXPECT_EQ(complaint("1.JPEG n01440764\n2.JPEG n01440765\n"),
            labels +
                ": class 'n01440765' of 2.png is none of the 1 classes; did you mean "
                "'n01440764'?");
  EXPECT_EQ(complaint("490\n361\n"),
            labels +
                ": numbers of classes alone, such as ILSVRC's own, do not say in which order "
                "these are counted; expected names such as n01440764, or a file and its class "
                "in each line");
  EXPECT_EQ(complaint("n01440764\n"), labels + ": has 1 classes, one a line, for 2 pictures");
  EXPECT_EQ(complaint("1.JPEG 0\nn01440764\n"),
            labels +
                ":2: 'n01440764', expected a file and its class in each line, or a class in "
                "each");
  EXPECT_EQ(complaint("1.JPEG 0 0\n"),
            labels + ":1: 3 words, expected a file and its class, or a class");
  folders.val_labels = {"gone.txt"};
  EXPECT_EQ(complaint(""),
            "data.val_labels: 'gone.txt' is neither here nor in " + val + " nor beside it");
}

ImageNetConfig model_of(int64_t size) {
  ImageNetConfig config;
  config.image_size = size;
  config.crop = 1.0;
  config.num_classes = 2;
  return config;
}

TEST_F(ImageFolderTest, HeldOutPicturesAreAsEvaluated) {
  add_classes("a", 2);
  const PictureDataset dataset(train_files({.train = {path("a")}}, {"ant", "cat"}), model_of(8),
                               1.0, {});
  Rng rng(1);
  const Example example = dataset.get(3, rng);
  EXPECT_EQ(example.at("pixels").sizes(), (std::vector<int64_t>{1, 3, 8, 8}));
  EXPECT_TRUE(example.at("pixels").eq(201).all().item<bool>());
  EXPECT_TRUE(example.at("labels").equal(at::ones({1, 1}, at::kLong)));
  EXPECT_FALSE(dataset.batch({example, example}, rng).contains("share"));
}

// With nothing random but the second picture.
TEST_F(ImageFolderTest, TrainingPicturesComeWithAnother) {
  add_classes("a", 2);
  const AugmentConfig augment{
      .crop = TrainCrop::kShifted, .shift = 0, .randaugment = {.layers = 0}};
  const PictureDataset dataset(train_files({.train = {path("a")}}, {"ant", "cat"}), model_of(8),
                               1.0, augment);
  std::set<int64_t> others;
  for (uint64_t i = 0; i < 50; ++i) {
    Rng rng(1, 0, i);
    const Example example = dataset.get(2, rng);
    ASSERT_EQ(example.at("pixels").sizes(), (std::vector<int64_t>{2, 3, 8, 8}));
    EXPECT_TRUE(example.at("pixels")[0].eq(200).all().item<bool>());
    EXPECT_EQ(example.at("labels")[0].item<int64_t>(), 1);
    const auto level = example.at("pixels")[1][0][0][0].item<int64_t>();
    EXPECT_EQ(example.at("labels")[1].item<int64_t>(), level >= 200);
    others.insert(level);
  }
  EXPECT_EQ(others, (std::set<int64_t>{0, 1, 200, 201}));
  Rng rng(1);
  const Example batch = dataset.batch({dataset.get(0, rng), dataset.get(1, rng)}, rng);
  EXPECT_EQ(batch.at("pixels").sizes(), (std::vector<int64_t>{2, 2, 3, 8, 8}));
  EXPECT_EQ(batch.at("box").sizes(), (std::vector<int64_t>{2, 4}));
}

TEST_F(ImageFolderTest, PicturesOfATableMayHaveSeveralClasses) {
  add("pictures/one.png", 1);
  add("pictures/two.png", 2);
  write_file(root_ / "several.csv",
             "file,labels\none.jpg,dog;cat\ntwo,cat\nthree.png,cat\none.png,dog;dog\n");
  write_file(root_ / "hot.csv",
             "file,ant,cat,dog\none.jpg,0,1,1\ntwo,0,1,0\nthree.png,0,1,0\none.png,0.0,,1.0\n");
  const ImageFolders folders{.train = {path("pictures")}};
  for (const PictureTable& table : {PictureTable{.table = path("several.csv")},
                                    PictureTable{.table = path("hot.csv"), .label = "*"}}) {
    ASSERT_TRUE(uses_table(folders, table));
    const auto rows = picture_rows(folders, table, DataPart::kTrain);
    const Names classes = picture_classes(rows, 4, /*several_labels=*/true, {});
    EXPECT_EQ(classes, (Names{"cat", "dog", "unused 2", "unused 3"}));
    const PictureDataset dataset(labelled_pictures(rows, classes, true), model_of(8), 1.0, {});
    ASSERT_EQ(dataset.size(), 4);
    Rng rng(1);
    const auto labels = [&](int64_t i) { return dataset.get(i, rng).at("labels"); };
    EXPECT_TRUE(labels(0).equal(at::tensor({0, 1}, at::kLong).unsqueeze(0)));
    EXPECT_TRUE(labels(1).equal(at::tensor({0, -1}, at::kLong).unsqueeze(0)));
    EXPECT_TRUE(labels(3).equal(at::tensor({1, -1}, at::kLong).unsqueeze(0)));
    EXPECT_EQ(error_of([&] { dataset.get(2, rng); }),
              table.table + ":4: 'three.png' is not in " + path("pictures") +
                  " or below, expected a file of this name");
    EXPECT_EQ(labelled_pictures(rows, classes, false)[0].error,
              table.table + ":2: has 2 classes, expected one, or model.several_labels=true");
    EXPECT_EQ(error_of([&] { picture_classes(rows, 1, true, {}); }),
              table.table +
                  ":2: has pictures of 2 classes, the model has 1; set "
                  "model.num_classes=2");
    EXPECT_EQ(error_of([&] { picture_classes(rows, 3, false, {}); }),
              table.table +
                  ":2: has pictures of 2 classes, the model has 3; set "
                  "model.num_classes=2");
  }
  EXPECT_FALSE(uses_table(folders, {}));
}

TEST_F(ImageFolderTest, ColumnsOfClassesHoldOnesAndZeros) {
  add("one.png");
  const PictureTable table{.table = path("hot.csv"), .label = "*"};
  const auto error = [&](const std::string& row) {
    write_file(table.table, "file,cat,split\none,1,train\none," + row + "\n");
    return picture_rows({.train = {root_.string()}}, table, DataPart::kTrain).at(1).error;
  };
  EXPECT_EQ(error("2,train"), table.table +
                                  ":3: '2' in the column 'cat', expected 1 for a class "
                                  "that the file has, or 0");
  EXPECT_EQ(error("0,train"), table.table + ":3: no column has a 1, expected a class");
}

TEST_F(ImageFolderTest, APictureThatCannotBeReadIsNamed) {
  add_classes("a", 3);
  std::ofstream(root_ / "a" / "ant" / "1.png") << "not a picture";
  const PictureDataset dataset(train_files({.train = {path("a")}}, {"ant", "cat"}), model_of(8),
                               1.0, {});
  Rng rng(1);
  EXPECT_EQ(error_of([&] { dataset.get(0, rng); }), "no error");
  EXPECT_EQ(error_of([&] { dataset.get(1, rng); }),
            path("a/ant/1.png") +
                ": not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  EXPECT_EQ(error_of([&] { dataset.get(2, rng); }), "no error");
}

TEST_F(ImageFolderTest, CachedPicturesAreReadOnceAndOthersEachTime) {
  add("a/ant/0.png", 10);
  const std::vector<LabelledFile> files = train_files({.train = {path("a")}}, {"ant"});
  const PictureCache cached(files, 1.0), uncached(files, 0.0);
  const PictureCache small(files, 8 * 8 / 0x1p30);  // a channel's worth
  for (const PictureCache* cache : {&cached, &uncached, &small}) {
    EXPECT_EQ(cache->get(0)[0][0][0].item<int64_t>(), 10);
  }
  add("a/ant/0.png", 20);
  EXPECT_EQ(cached.get(0)[0][0][0].item<int64_t>(), 10);
  EXPECT_EQ(uncached.get(0)[0][0][0].item<int64_t>(), 20);
  EXPECT_EQ(small.get(0)[0][0][0].item<int64_t>(), 20);
}

}  // namespace
}  // namespace perceiver
