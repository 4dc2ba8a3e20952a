#include "perceiver/tasks/task.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "perceiver/core/error_test.h"
#include "perceiver/media/image.h"
#include "perceiver/nn/init.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTiny = R"(
task = "imagenet"
[model]
image_size = 8
crop = 1.0
num_bands = 2
num_classes = 3
query_channels = 8
[model.encoder]
num_latents = 4
latent_channels = 8
num_blocks = 1
self_attends_per_block = 1
self_attend.num_heads = 2
)";

// A folder of three classes with four pictures each.
class ImageNetTaskTest : public testing::Test {
 protected:
  ImageNetTaskTest() {
    fs::remove_all(root_);
    at::manual_seed(0);
    for (const char* name : {"a", "b", "c"}) {
      fs::create_directories(root_ / name);
      for (int i = 0; i < 4; ++i) {
        write_file(root_ / name / fmt::format("{}.png", i),
                   encode_png(at::randint(256, {3, 8, 8}, at::kByte)));
      }
    }
  }
  ~ImageNetTaskTest() override { fs::remove_all(root_); }

  std::unique_ptr<Task> task(std::vector<std::string> overrides = {}) const {
    overrides.push_back(fmt::format("data.train=[\"{}\"]", root_.string()));
    return make_task(File{"tiny.toml", kTiny}, overrides);
  }

  fs::path root_ = fs::path(testing::TempDir()) / "perceiver_imagenet_task";
};

Example first_batch(const Dataset& dataset, int64_t size) {
  std::vector<Example> examples;
  Rng rng(1);
  for (int64_t i = 0; i < size; ++i) examples.push_back(dataset.get(i, rng));
  return dataset.batch(examples, rng);
}

TEST_F(ImageNetTaskTest, TheDataMayNameItsOwnBicubic) {
  const auto own = task(), other = task({"data.bicubic=tensorflow"});
  const auto batch_of = [](Task& task) {
    return first_batch(*task.training()->dataset(Split::kTrain), 4);
  };
  EXPECT_EQ(batch_of(*own).at("pixels").scalar_type(), at::kByte);
  const Example floats = batch_of(*other);
  EXPECT_EQ(floats.at("pixels").scalar_type(), at::kFloat);
  EXPECT_TRUE(other->training()->loss(floats).sum.isfinite().item<bool>());
}

// The zeros of a baseline's last layer make all classes equal.
TEST_F(ImageNetTaskTest, LossOfEqualClassesIsTheLogarithmOfTheirNumber) {
  for (const char* smoothing : {"0.0", "0.1"}) {
    const auto task = this->task(
        {"model.decode_by=\"average\"", fmt::format("train.label_smoothing={}", smoothing)});
    Training& training = *task->training();
    const Loss loss = training.loss(first_batch(*training.dataset(Split::kTrain), 4));
    EXPECT_EQ(loss.weight.item<double>(), 4.0);
    EXPECT_NEAR((loss.sum / loss.weight).item<double>(), std::log(3.0), 1e-6);
  }
}

TEST_F(ImageNetTaskTest, LabelSmoothingTakesFromTheLabelForAllClasses) {
  const auto plain = task({"data.mixup=0.0", "data.cutmix=false"});
  const auto smooth = task({"train.label_smoothing=0.3"});
  const Example batch = first_batch(*plain->training()->dataset(Split::kTrain), 4);
  at::NoGradGuard no_grad;
  for (const auto& from : plain->model().named_parameters()) {
    smooth->model().named_parameters()[from.key()].copy_(from.value());
  }
  // Of each class in turn: their mean is the loss of evenly spread targets.
  double even = 0.0;
  for (int64_t label = 0; label < 3; ++label) {
    Example same = batch;
    same["labels"] = at::full_like(batch.at("labels"), label);
    even += plain->training()->loss(same).sum.item<double>() / 3.0;
  }
  EXPECT_NEAR(smooth->training()->loss(batch).sum.item<double>(),
              0.7 * plain->training()->loss(batch).sum.item<double>() + 0.3 * even, 1e-4);
}

TEST_F(ImageNetTaskTest, MeasuresAddUpOverBatches) {
  const auto task = this->task({"data.held_out_per_class=3"});
  Training& training = *task->training();
  const auto held_out = training.dataset(Split::kEval);
  ASSERT_EQ(held_out->size(), 9);
  EXPECT_EQ(training.dataset(Split::kTrain)->size(), 3);
  at::NoGradGuard no_grad;
  const auto evaluator = training.evaluator();
  evaluator->add(first_batch(*held_out, 9));
  // Five guesses say nothing where there are three classes.
  EXPECT_FALSE(evaluator->figures().contains("top_5"));
  EXPECT_EQ(evaluator->state().at("top_1")[1].item<double>(), 9.0);
  const MainMeasure main = training.main_measure();
  EXPECT_TRUE(evaluator->figures().contains(main.name));
  EXPECT_FALSE(main.lower_is_better);
}

TEST_F(ImageNetTaskTest, FirstGuessesAreCounted) {
  const auto task = this->task({"data.held_out_per_class=3"});
  at::NoGradGuard no_grad;
  // A bias on the logits outweighs the picture: class 1 whatever is seen.
  task->model().named_parameters()["decoder.output.bias"].copy_(at::tensor({0.0, 1e4, 0.0}));
  const auto evaluator = task->training()->evaluator();
  evaluator->add(first_batch(*task->training()->dataset(Split::kEval), 9));
  EXPECT_EQ(evaluator->state().at("top_1")[0].item<double>(), 3.0);
  EXPECT_NEAR(evaluator->state().at("loss")[0].item<double>(), 6e4, 600.0);
}

// The zeros of a baseline's last layer give each of three classes one half.
TEST_F(ImageNetTaskTest, OfSeveralLabelsTheLossIsTheSumOverTheClasses) {
  const auto task =
      this->task({"model.decode_by=\"average\"", "model.several_labels=true", "data.mixup=0.0",
                  "data.cutmix=false", "data.held_out_per_class=1"});
  Training& training = *task->training();
  const Loss loss = training.loss(first_batch(*training.dataset(Split::kTrain), 4));
  EXPECT_NEAR((loss.sum / loss.weight).item<double>(), 3.0 * std::log(2.0), 1e-6);
  at::NoGradGuard no_grad;
  const auto evaluator = training.evaluator();
  evaluator->add(first_batch(*training.dataset(Split::kEval), 3));
  const std::map<std::string, double> figures = evaluator->figures();
  EXPECT_NEAR(figures.at("loss"), 3.0 * std::log(2.0), 1e-6);
  // Equal scores are one step: the precision is the share of each class, a third.
  EXPECT_NEAR(figures.at("mean_average_precision"), 1.0 / 3.0, 1e-9);
  EXPECT_NEAR(figures.at("top_1"), 1.0 / 3.0, 1e-9);
  EXPECT_EQ(training.main_measure().name, "mean_average_precision");
}

TEST_F(ImageNetTaskTest, WithoutHeldOutPicturesThereIsNoDatasetOfThem) {
  EXPECT_EQ(task()->training()->dataset(Split::kEval), nullptr);
}

TEST_F(ImageNetTaskTest, ClassesAreNamedAfterTheirFoldersUnlessTheseAreNumbers) {
  EXPECT_EQ(task()->training()->labels(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(make_task(File{"tiny.toml", kTiny})->training()->labels().empty());
  fs::rename(root_ / "a", root_ / "n01440764");
  EXPECT_EQ(task()->training()->labels(), (std::vector<std::string>{"b", "c", "n01440764"}));
  fs::rename(root_ / "b", root_ / "n01443537");
  fs::rename(root_ / "c", root_ / "n01484850");
  EXPECT_TRUE(task()->training()->labels().empty());
}

// "We replace only the final linear layer" (App. A).
TEST(ImageNetConfigs, WhatWasPretrainedFitsAllButTheLastLayer) {
  const ConstructScope scope(Construct::kWithoutMemory);
  for (const std::string name :
       {"imagenet_fourier_b", "imagenet_fourier_b_projected", "imagenet_conv_b"}) {
    const auto task_of = [&](const std::string& config) {
      return make_task(read_file(shipped("configs") / (config + ".toml")));
    };
    const auto tuned = task_of(name), pretrained = task_of(name + "_pretraining");
    EXPECT_EQ(tuned->training()->config().new_head, std::vector<std::string>{"decoder.output.*"});
    const auto from = pretrained->model().named_parameters();
    std::vector<std::string> anew;
    for (const auto& parameter : tuned->model().named_parameters()) {
      const Tensor* other = from.find(parameter.key());
      ASSERT_NE(other, nullptr) << parameter.key();
      if (other->sizes() != parameter.value().sizes()) anew.push_back(parameter.key());
    }
    EXPECT_EQ(anew, (std::vector<std::string>{"decoder.output.weight", "decoder.output.bias"}));
  }
}

TEST_F(ImageNetTaskTest, ConfigsKeysAreAllInOneTable) {
  const std::vector<std::string> overrides = {"data.randaugment.layers=2", "data.crop=\"shifted\"",
                                              "data.cache_gib=0.5", "data.held_out_per_class=1"};
  const std::string text = read_settings({"tiny.toml", kTiny}, overrides)->text();
  for (const char* line :
       {"data.randaugment.layers = 2\n", "data.crop = 'shifted'\n", "data.cache_gib = 0.5\n",
        "data.held_out_per_class = 1\n", "data.mixup = 0.2\n", "data.min_area = 0.08\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  }
  EXPECT_EQ(read_settings({"again.toml", text})->text(), text);
  EXPECT_EQ(error_of([&] { this->task({"data.mixup=2.0"}); }),
            "command line: 'data.mixup' must be at most 1, got 2");
}

}  // namespace
}  // namespace perceiver
