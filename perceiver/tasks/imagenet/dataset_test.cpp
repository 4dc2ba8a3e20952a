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
    for (const auto& [path, label] : files) {
      names.push_back(fmt::format("{}/{}:{}", path.parent_path().filename().string(),
                                  path.filename().string(), label));
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
  EXPECT_TRUE(example.at("labels").equal(at::tensor({1}, at::kLong)));
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
