#include "perceiver/zoo/origin.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "perceiver/zoo/golden_test.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class OriginTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  // Where the weights come from once the model was saved, and loaded from there.
  Origin saved_and_loaded(const Model& model) {
    save_model(model, folder / "saved", at::kFloat);
    return load_model(folder / "saved").origin;
  }

  // A folder of ours with this in its config.json under "perceiver".
  Origin of_folder_saying(const Json& own) {
    write_file(folder / "config.json", Json{{"perceiver", own}}.dump());
    return origin_of(folder);
  }

  const fs::path folder = fs::path(testing::TempDir()) / "perceiver_origin";
};

TEST_F(OriginTest, RandomWeightsStayRandomWhereverTheyAreSaved) {
  const Model model = load_model("configs/flow_mini.toml");
  EXPECT_TRUE(model.origin.is_random());
  EXPECT_EQ(to_string(model.origin), "new model, random weights");
  EXPECT_TRUE(saved_and_loaded(model).is_random());
}

TEST_F(OriginTest, WeightsOfOthersStayTheirsWhereverTheyAreSaved) {
  const Model deepmind = load_model(golden("deepmind/language"));
  EXPECT_EQ(to_string(deepmind.origin), "weights from DeepMind");
  EXPECT_EQ(saved_and_loaded(deepmind).weights, WeightsFrom::kDeepMind);
  const Model hugging_face = load_model(golden("huggingface/language"));
  EXPECT_EQ(to_string(hugging_face.origin), "weights from Hugging Face");
  EXPECT_EQ(saved_and_loaded(hugging_face).weights, WeightsFrom::kHuggingFace);
}

TEST_F(OriginTest, TrainedWeightsKeepTheirRunTheirStepsAndWhatTheyBeganAs) {
  Model model = load_model("configs/flow_mini.toml");
  model.origin = {WeightsFrom::kTrained, "mini", 60, "flow-mini"};
  EXPECT_EQ(to_string(saved_and_loaded(model)),
            "trained here (run mini, 60 steps, from flow-mini)");
}

TEST_F(OriginTest, AnOlderFolderIsOfARunWhereItLiesInOneAndElseUnknown) {
  EXPECT_EQ(of_folder_saying({{"origin", "deepmind"}}).weights, WeightsFrom::kUnknown);
  write_file(folder.parent_path() / "metrics.jsonl", "");
  const Origin origin = of_folder_saying({{"origin", "deepmind"}});
  fs::remove(folder.parent_path() / "metrics.jsonl");
  EXPECT_EQ(origin.weights, WeightsFrom::kTrained);
}

TEST_F(OriginTest, WhatAFolderSaysIsShownButNotBelievedBlindly) {
  EXPECT_EQ(of_folder_saying({{"weights", {{"from", "heaven"}}}}).weights, WeightsFrom::kUnknown);
  EXPECT_EQ(of_folder_saying({{"weights", {{"from", 3}}}}).weights, WeightsFrom::kUnknown);
  const Json rude = {{"from", "trained"}, {"name", "a\033[2Jb"}, {"steps", -4}};
  EXPECT_EQ(to_string(of_folder_saying({{"weights", rude}})), "trained here (run a\\x1b[2Jb)");
}

}  // namespace
}  // namespace perceiver
