// Ten losses of ten steps of a classifier of texts on a tiny fixed batch, as
// tests/ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/nn/module_tensors.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/tiny_test.h"
#include "perceiver/zoo/find.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

File tiny_classifier() {
  return {"tiny_text_classifier.toml", R"(
task = "text_classifier"
[model]
num_inputs = 32
input_channels = 16
num_classes = 3
[model.encoder]
num_latents = 8
latent_channels = 16
self_attends_per_block = 2
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[train]
optimizer = "adamw"
learning_rate = 0.003
weight_decay = 0.0
steps = 200
batch = 16
)"};
}

// Texts of three classes, told apart by one of their words.
class TextClassifierLosses : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    const char* const words[] = {"dull", "fine", "grand"};
    std::string csv = "text,label\n", json;
    for (int i = 0; i < 60; ++i) {
      const int label = i * 7 % 3;
      const std::string text = std::string(1 + i % 4, 'a') + ", " + words[label];
      csv += "\"" + text + "\"," + std::to_string(9 + label) + "\n";
      json += "{\"text\": \"" + text + "\", \"label\": " + std::to_string(9 + label) + "}\n";
    }
    write_file(folder / "texts.csv", csv);
    write_file(folder / "texts.jsonl", json);
  }
  void TearDown() override { fs::remove_all(folder); }

  Model make(std::vector<std::string> overrides, const char* file = "texts.csv") const {
    at::set_num_threads(1);  // sums are added up in the same order on every machine
    overrides.insert(overrides.begin(), "data.train=['" + (folder / file).string() + "']");
    at::manual_seed(0);
    return new_model(tiny_classifier(), overrides);
  }

  fs::path folder = fs::path(testing::TempDir()) / ("texts_" + std::to_string(getpid()));
};

// The first loss of three classes is near ln 3.
TEST_F(TextClassifierLosses, TenSteps) {
  Model model = make({"train.overfit_batch=true", "train.learning_rate=0.001"});
  Trainer trainer(model, {});
  expect_losses(losses(trainer, 10), {1.087385, 0.780450, 0.604256, 0.489896, 0.392631, 0.312386,
                                      0.249025, 0.199563, 0.162527, 0.135375});
  EXPECT_EQ(model.labels, (std::vector<std::string>{"9", "10", "11"}));
}

TEST_F(TextClassifierLosses, ABatchIsLearnedByHeart) {
  Model model = make({"train.overfit_batch=true"});
  Trainer trainer(model, {});
  const std::vector<double> all = losses(trainer, 200);
  EXPECT_LT(all.back(), 0.05 * all.front());
}

// With a share s of the truth spread over the classes, no loss is below the entropy of what is
// left: 1 - s + s / 3 of the right class, s / 3 of each other.
TEST_F(TextClassifierLosses, SmoothedLabelsLeaveTheirEntropy) {
  Model model = make({"train.overfit_batch=true", "train.label_smoothing=0.3"});
  Trainer trainer(model, {});
  const double entropy = -0.8 * std::log(0.8) - 2 * 0.1 * std::log(0.1);
  const double last = losses(trainer, 200).back();
  EXPECT_GE(last, entropy);
  EXPECT_LT(last, 1.05 * entropy);
}

TEST_F(TextClassifierLosses, EveryFormatGivesTheSameNumbers) {
  Model of_csv = make({}), of_json = make({}, "texts.jsonl");
  Trainer a(of_csv, {}), b(of_json, {});
  EXPECT_EQ(losses(a, 3), losses(b, 3));
  const auto figures = [](Model& model) {
    return evaluate(*model.task, *training_of(model).dataset(Split::kEval), {}).figures;
  };
  const auto measured = figures(of_csv);
  EXPECT_EQ(measured, figures(of_json));
  EXPECT_EQ(measured.size(), 3u);
  for (const char* name : {"accuracy", "loss", "macro_f1"}) EXPECT_TRUE(measured.contains(name));
}

// The shipped config as it stands: names and sizes agree with language-mini's.
TEST_F(TextClassifierLosses, AllButTheHeadIsThatOfALanguageModel) {
  const std::vector<std::string> overrides = {
      "train.from=language-mini", "model.num_classes=3",
      "data.train=['" + (folder / "texts.csv").string() + "']"};
  Model model = new_model(read_file(shipped("configs/text_classifier_mini.toml")), overrides);
  const Trainer trainer(model, {});
  const Model from = load_model(find_model("language-mini"));
  const TensorMap theirs = module_tensors(from.task->model());
  int64_t taken = 0;
  for (const auto& [name, tensor] : module_tensors(model.task->model())) {
    if (name.starts_with("query.") || name.starts_with("decoder.")) continue;
    EXPECT_TRUE(tensor.equal(theirs.at(name))) << name;
    ++taken;
  }
  EXPECT_GT(taken, 90);
  EXPECT_EQ(model.labels.size(), 3u);
}

// Without a new head the classes stay the ones that the weights know, in their order.
TEST_F(TextClassifierLosses, ClassesOfTheModelAreMatchedByName) {
  Model model = make({});
  Training& training = training_of(model);
  training.match_classes({"11", "9", "10"});
  EXPECT_EQ(training.labels(), (std::vector<std::string>{"11", "9", "10"}));
  Rng rng(0);
  // The first text is of class 9, the second of 10.
  const std::unique_ptr<Dataset> texts = training.dataset(Split::kTrain);
  EXPECT_EQ(texts->get(0, rng).at("label").item<int64_t>(), 1);
  EXPECT_EQ(texts->get(1, rng).at("label").item<int64_t>(), 2);
}

}  // namespace
}  // namespace perceiver
