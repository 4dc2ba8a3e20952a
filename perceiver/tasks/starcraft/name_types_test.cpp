#include "perceiver/tasks/starcraft/name_types.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class NameTypes : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  static Model small_model() {
    at::manual_seed(5);
    Model model = new_model({"small.toml",
                             "task = 'starcraft'\n[model]\nencoder = { num_latents = 4, "
                             "latent_channels = 16, self_attends_per_block = 1 }\n"
                             "entities = { num_entities = 6, num_types = 3, max_selected = 2 }\n"});
    model.task->model().eval();
    model.labels = {"Marine", "Mineral", "SCV"};
    return model;
  }
  std::string states(const std::string& text) const {
    write_file(folder / "states.jsonl", text);
    return (folder / "states.jsonl").string();
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("name_types_" + std::to_string(getpid()));
};

TEST_F(NameTypes, EveryOpenEntityOfEveryStateIsNamedInTheOrderOfTheFile) {
  Model model = small_model();
  const std::vector<NamedState> named = name_types(
      model,
      states(R"({"replay": "a", "players": [{"pid": 2, "team": 1}], "entities": [)"
             R"(["?", 0, 1, 2, 0, 1], ["SCV", 1, 3, 4, 0, 1], ["?", 2, 5, 6, 7, 1]]})"
             "\n"
             R"({"replay": "b", "entities": [["Beacon", 1, 1, 1, 0, 1], ["?", 1, 5, 6, 0, 0]]})"),
      2);
  ASSERT_EQ(named.size(), 2u);
  EXPECT_TRUE(named[0].place.ends_with("states.jsonl:1")) << named[0].place;
  ASSERT_EQ(named[0].entities.size(), 2u);
  EXPECT_EQ(named[0].entities[0].entity, 0);
  EXPECT_EQ(named[0].entities[1].entity, 2);
  ASSERT_EQ(named[0].entities[0].top.size(), 2u);
  EXPECT_GE(named[0].entities[0].top[0].probability, named[0].entities[0].top[1].probability);
  EXPECT_TRUE(named[0].strange.empty());
  ASSERT_EQ(named[1].entities.size(), 1u);
  EXPECT_EQ(named[1].entities[0].entity, 1);
  EXPECT_EQ(named[1].strange, std::vector<std::string>{"Beacon"});
  EXPECT_EQ(to_json(named[1])["left_out"][0], "Beacon");
}

// What is asked is what training asks: the same entity, hidden in the same state.
TEST_F(NameTypes, AnAnswerDependsOnTheOthersAndNotOnWhatIsLeftOut) {
  Model model = small_model();
  const auto asked = [&](const std::string& other) {
    return name_types(
               model,
               states(R"({"replay": "a", "entities": [["?", 1, 5, 6, 0, 0], )" + other + "]}"),
               3)[0]
        .entities[0]
        .top[0]
        .probability;
  };
  const double alone = asked(R"(["Beacon", 1, 1, 1, 0, 1])");
  EXPECT_NEAR(asked(R"(["Beacon", 0, 9, 9, 0, 1])"), alone, 1e-6);
  EXPECT_GT(std::abs(asked(R"(["Marine", 1, 1, 1, 0, 1])") - alone), 1e-6);
}

TEST_F(NameTypes, WhatCannotBeNamedIsSaidInOneLine) {
  Model model = small_model();
  const std::string file = states(R"({"replay": "a", "entities": [["SCV", 1, 3, 4, 0, 1]]})");
  EXPECT_EQ(error_of([&] { name_types(model, file); }),
            file + ":1: no entity of the type \"?\", expected one or more to be named");
  std::string many;
  for (int i = 0; i < 7; ++i) many += std::string(i > 0 ? ", " : "") + R"(["?", 1, 3, 4, 0, 1])";
  states(R"({"replay": "a", "entities": [)" + many + "]}");
  EXPECT_EQ(error_of([&] { name_types(model, file); }),
            file + ":1: has 7 entities, the model has room for 6");
  model.labels.clear();
  EXPECT_EQ(error_of([&] { name_types(model, file); }),
            model.source + ": has no names of types (labels.txt); train one on states of games");
}

}  // namespace
}  // namespace perceiver
