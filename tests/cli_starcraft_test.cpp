// Entity encoders trained and measured through a shell, as a user would.
#include <nlohmann/json.hpp>

#include "perceiver/tasks/starcraft/states_file_test.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliStarCraft : public testing::Test {
 protected:
  void SetUp() override { states = write_states(folder, 8).string(); }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  std::string train(const std::string& config, const std::string& name) const {
    return "train " + config + " -q --threads 1 --data " + states + " -o " + path(name) +
           " model.entities.num_entities=16 model.entities.max_selected=4 data.held_out_share=0.25"
           " train.batch=4 train.warmup_steps=0 train.log_every=1 train.save_every=3"
           " train.eval_every=8";
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_starcraft_" + std::to_string(getpid()));
  std::string states;
};

TEST_F(CliStarCraft, EvalMeasuresTheHeldOutGamesOfBothEncodersByTheSavedTypes) {
  for (const char* config : {"starcraft_mini", "starcraft_transformer_mini"}) {
    const Result trained = run(train(config, config) + " train.steps=2");
    ASSERT_EQ(trained.code, 0) << trained.err;
    const std::string labels = read_file(folder / config / "last" / "labels.txt").bytes;
    EXPECT_TRUE(labels.starts_with("Marine\nMineral\nSCV\nunused 3\n")) << labels;
    const Result measured = run("eval " + path(config) + " --threads 1 --json --data " + states);
    ASSERT_EQ(measured.code, 0) << measured.err;
    const Json json = Json::parse(measured.out);
    EXPECT_EQ(json["examples"], 8) << "two of eight games";
    for (const char* figure : {"type_accuracy", "most_frequent_type", "winner_accuracy",
                               "most_frequent_result", "pointing_f1", "pointing_accuracy"}) {
      ASSERT_TRUE(json.contains(figure)) << figure << " " << measured.out;
    }
    write_file(folder / "other.jsonl",
               R"({"replay": "z", "entities": [["Zealot", 1, 2, 3, 4, 1]]})");
    expect_complaint(
        "eval -q " + path(config) + " --data " + path("other.jsonl"),
        path("other.jsonl") + ":1: type 'Zealot' is none of the 256 that the model knows");
  }
}

TEST_F(CliStarCraft, ClassifyNamesTheEntitiesWhoseTypeIsLeftOpen) {
  const Result trained = run(train("starcraft_mini", "named") + " train.steps=150");
  ASSERT_EQ(trained.code, 0) << trained.err;
  write_file(folder / "open.jsonl",
             R"({"replay": "new", "players": [{"pid": 1, "team": 1}], "entities": [)"
             R"(["SCV", 1, 3, 4, 0, 1], ["?", 1, 2, 9, 30, 1], ["Mineral", 0, 9, 9, 0, 1], )"
             R"(["?", 0, 12, 5, 0, 1], ["BeaconArmy", 1, 5, 5, 0, 1]]})"
             "\n");
  const std::string asked = "classify -k 2 -m " + path("named") + " " + path("open.jsonl");
  const Result named = run(asked);
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_TRUE(named.out.starts_with(path("open.jsonl") + ":1\n  entity 1: ")) << named.out;
  EXPECT_NE(named.out.find("\n  entity 3: Mineral "), std::string::npos) << named.out;
  EXPECT_NE(named.err.find(":1: left out, as the model does not know them: BeaconArmy\n"),
            std::string::npos)
      << named.err;
  const Json line = Json::parse(run(asked + " -q --jsonl").out);
  EXPECT_EQ(line["entities"][1]["entity"], 3);
  EXPECT_EQ(line["entities"][1]["top"][0]["name"], "Mineral");
  EXPECT_EQ(Json::parse(run(asked + " -q --json").out)[0]["entities"], line["entities"]);
  expect_complaint("classify -q -m " + path("named") + " " + states,
                   states + ":1: no entity of the type \"?\", expected one or more to be named");
  const Result shared = run("classify -q --ranks 2 -m " + path("named") + " " + path("open.jsonl"));
  EXPECT_EQ(shared.code, 1);
  EXPECT_TRUE(
      shared.err.ends_with(": --ranks shares files; states of games are read by one process\n"))
      << shared.err;
}

TEST_F(CliStarCraft, KilledARunComesToTheSameWeights) {
  for (const char* config : {"starcraft_mini", "starcraft_transformer_mini"}) {
    const std::string whole = std::string(config) + "_whole";
    ASSERT_EQ(run(train(config, whole) + " train.steps=30").code, 0);
    const fs::path killed = folder / (std::string(config) + "_killed");
    {
      Child child(train(config, killed.filename().string()) + " train.steps=30");
      wait_for([&] { return fs::exists(killed / "last") || !child.running(); });
      child.send(SIGKILL);
      child.wait();
    }
    const Result resumed = run("train -q --threads 1 --resume " + killed.string());
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    for (const char* model : {"last", "best"}) {
      EXPECT_EQ(read_file(killed / model / "model.safetensors").bytes,
                read_file(folder / whole / model / "model.safetensors").bytes)
          << config << " " << model;
    }
  }
}

TEST_F(CliStarCraft, MistakesAreOneLine) {
  expect_complaint(
      train("starcraft_mini", "a") + " 'data.objectives={masked_type=0.0,winner=0.0,pointing=0.0}'",
      "data.objectives: all weights are 0, expected one above");
  expect_complaint(train("starcraft_mini", "b") + " \"model.entities.features=['birth_frame']\"",
                   "data.objectives.pointing: needs x and y among model.entities.features");
  expect_complaint(train("starcraft_mini", "c") +
                       " \"model.entities.features=['birth_frame']\" data.mirror=true"
                       " data.objectives.pointing=0.0",
                   "data.mirror: needs x and y among model.entities.features");
}

}  // namespace
}  // namespace perceiver
