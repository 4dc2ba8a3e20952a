// Pictures through the whole of training: ten losses of ten steps, a batch learnt by heart, and a
// picture that cannot be read. What the losses are is said in ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "perceiver/core/error_test.h"
#include "perceiver/media/image.h"
#include "perceiver/train/trainer.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

const File kTiny = {"tiny.toml", R"(
task = "imagenet"
[model]
image_size = 8
crop = 1.0
num_bands = 2
num_classes = 3
query_channels = 16
[model.encoder]
num_latents = 4
latent_channels = 16
num_blocks = 2
self_attends_per_block = 1
self_attend.num_heads = 2
[data.randaugment]
translate = 4.0
cutout = 2.0
[train]
learning_rate = 0.01
label_smoothing = 0.1
steps = 1000
batch = 8
overfit_batch = true
)"};

// Three classes with four pictures of noise each.
class TrainOnPictures : public testing::Test {
 protected:
  TrainOnPictures() {
    at::set_num_threads(1);  // arrays this small gain nothing from more
    Rng rng(0);
    for (const char* name : {"ant", "bee", "cat"}) {
      fs::create_directories(folder_ / name);
      for (int i = 0; i < 4; ++i) {
        Tensor pixels = at::empty({3, 12, 12}, at::kByte);
        for (int64_t j = 0; j < pixels.numel(); ++j) {
          pixels.data_ptr<uint8_t>()[j] = static_cast<uint8_t>(rng.integer(256));
        }
        write_file(folder_ / name / fmt::format("{}.png", i), encode_png(pixels));
      }
    }
  }
  ~TrainOnPictures() override { fs::remove_all(folder_); }

  Model make(std::vector<std::string> overrides = {}) const {
    overrides.push_back(fmt::format("data.train=['{}']", folder_.string()));
    at::manual_seed(0);
    return new_model(kTiny, overrides);
  }

  static std::vector<double> losses(Trainer& trainer, int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(trainer.step().loss.item<double>());
    return losses;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("pictures_" + std::to_string(getpid()));
};

TEST_F(TrainOnPictures, TenLosses) {
  Model model = make();
  Trainer trainer(model, {});
  expect_losses(losses(trainer, 10), {0.923516, 0.868278, 0.807168, 0.777252, 0.727551, 0.634162,
                                      0.553883, 0.523396, 0.503310, 0.509291});
}

TEST_F(TrainOnPictures, ABatchIsLearntByHeart) {
  Model model = make({"data.randaugment.layers=0", "data.mixup=0.0", "data.cutmix=false",
                      "train.optimizer='adamw'", "train.label_smoothing=0.0"});
  Trainer trainer(model, {});
  const std::vector<double> all = losses(trainer, 100);
  EXPECT_LT(all.back(), 0.1 * all.front());
}

// Each picture has two of three classes, another pair for each folder.
TEST_F(TrainOnPictures, SeveralLabelsOfABatchAreLearntByHeart) {
  std::string rows = "file,labels\n";
  for (int i = 0; i < 4; ++i) {
    rows +=
        fmt::format("ant/{}.png,red;green\nbee/{}.png,green;blue\ncat/{}.png,blue;red\n", i, i, i);
  }
  write_file(folder_ / "labels.csv", rows);
  Model model = make({"data.table='labels.csv'", "model.several_labels=true",
                      "data.randaugment.layers=0", "data.mixup=0.0", "data.cutmix=false",
                      "train.optimizer='adamw'", "train.label_smoothing=0.0"});
  Trainer trainer(model, {});
  const std::vector<double> all = losses(trainer, 100);
  EXPECT_LT(all.back(), 0.1 * all.front());
}

TEST_F(TrainOnPictures, APictureThatCannotBeReadStopsTrainingOrIsSkipped) {
  std::ofstream(folder_ / "bee" / "2.png") << "not a picture";
  const std::string message =
      (folder_ / "bee" / "2.png").string() +
      ": not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF";
  Model strict = make({"train.overfit_batch=false"});
  Trainer stops(strict, {});
  EXPECT_EQ(error_of([&] { losses(stops, 10); }), message);

  Model lenient = make({"train.overfit_batch=false", "train.unreadable='skip'"});
  std::string said;
  {
    Trainer skips(lenient, {.say = [&](const std::string& line) { said += line; }});
    EXPECT_EQ(losses(skips, 10).size(), 10u);
    EXPECT_EQ(skips.skipped(), 1);  // ten times, and told of once
  }
  EXPECT_EQ(said, message + "; skipped");
}

}  // namespace
}  // namespace perceiver
