#include "perceiver/tasks/starcraft/data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

const std::string kPlayers =
    R"("players": [{"pid": 1, "team": 1, "result": "Win"}, {"pid": 2, "team": 2, "result": "Loss"}])";

std::string state(const std::string& game, const std::string& entities) {
  return R"({"replay": ")" + game + R"(", )" + kPlayers + R"(, "entities": )" + entities + "}\n";
}

class EntityData : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string& text, const std::string& name = "a.jsonl") const {
    write_file(folder / name, text);
    return (folder / name).string();
  }

  std::string complaint(const std::string& text) {
    config.train = {write(text)};
    return error_of([&] { starcraft_split(config, model, Split::kTrain); });
  }

  fs::path folder = fs::path(testing::TempDir()) / ("entities_" + std::to_string(getpid()));
  StarCraftDataConfig config = {.held_out_share = 0.5};
  EntityConfig model = {.num_entities = 4, .num_types = 8, .max_selected = 2};
};

TEST_F(EntityData, StatesOfOneGameAreOnOneSide) {
  std::string text;
  for (const char* game : {"a", "b", "c", "d", "a", "b", "c", "d"}) {
    text += state(game, R"([["SCV", 1, 2, 3, 0, 1]])");
  }
  config.train = {write(text)};
  const auto games = [&](Split split) {
    std::multiset<std::string> names;
    for (const GameState& one : starcraft_split(config, model, split).states) {
      names.insert(one.game);
    }
    return names;
  };
  EXPECT_EQ(games(Split::kTrain), (std::multiset<std::string>{"a", "a", "c", "c"}));
  EXPECT_EQ(games(Split::kEval), (std::multiset<std::string>{"b", "b", "d", "d"}));
  config.held_out = config.train;  // as eval --data names it
  EXPECT_EQ(games(Split::kEval), (std::multiset<std::string>{"b", "b", "d", "d"}));
  config.held_out = {write(state("c", R"([["SCV", 1, 2, 3, 0, 1]])"), "other.jsonl")};
  EXPECT_EQ(games(Split::kEval), (std::multiset<std::string>{"c"}));
  EXPECT_EQ(games(Split::kTrain), (std::multiset<std::string>{"a", "a", "b", "b", "d", "d"}));
}

TEST_F(EntityData, OwnEntitiesComeFirstAndNobodysAreCropped) {
  config.train = {write(state("a", R"([["Mineral", 0, 1, 1, 0, 1], ["Mineral", 0, 1, 2, 0, 1],
      ["SCV", 2, 9, 9, 5, 1], ["SCV", 2, 50, 9, 5, 1], ["Probe", 1, 30, 30, 6, 0]])"))};
  for (size_t at = config.train[0].size(); at > 0; at = 0) {  // a state is a line
    std::string text = read_file(config.train[0]).bytes;
    std::erase(text, '\n');
    write(text);
  }
  config.held_out_share = 0.0;
  EntityStates states = starcraft_split(config, model, Split::kTrain);
  const std::vector<std::string> types = entity_types(config, model, {}, Unreadable::kStop);
  EXPECT_EQ(types, (std::vector<std::string>{"Mineral", "Probe", "SCV"}));
  const EntityDataset dataset(std::move(states), types, config, model);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed), again(seed);
    const Example example = dataset.get(0, rng), repeated = dataset.get(0, again);
    for (const auto& [name, array] : example) EXPECT_TRUE(array.equal(repeated.at(name))) << name;
    EXPECT_TRUE(example.at("mask").all().item<bool>());
    const bool first = example.at("won").item<int64_t>() == 1;  // seen by player 1
    const Tensor expected_types =
        first ? at::tensor({1, 2, 2, 0}, at::kLong) : at::tensor({2, 2, 1, 0}, at::kLong);
    const Tensor owners =
        first ? at::tensor({1.0f, 3.0f, 3.0f, 0.0f}) : at::tensor({1.0f, 1.0f, 3.0f, 0.0f});
    EXPECT_TRUE(example.at("type").equal(expected_types));
    EXPECT_TRUE(example.at("entities").select(1, kOwner).equal(owners));
    const Tensor shown = example.at("entities").select(1, kType).to(at::kLong);
    const Tensor hidden = example.at("hidden");
    EXPECT_TRUE(hidden.any().item<bool>());
    EXPECT_TRUE(shown.equal(at::where(hidden, at::full({4}, 8, at::kLong), expected_types)));
    // The two of player 2 are 41 cells apart: each is alone within six.
    EXPECT_LT(example.at("selected")[0].item<int64_t>(), first ? 1 : 2);
    EXPECT_EQ(example.at("selected")[1].item<int64_t>(), 4);
  }
}

TEST_F(EntityData, TrainingStatesLoseEntitiesAndAreMirroredByChance) {
  config.train = {write(state(
      "a",
      R"([["SCV", 1, 10, 100, 0, 1], ["SCV", 1, 12, 100, 0, 1], ["Drone", 2, 20, 130, 0, 1]])"))};
  config.held_out_share = 0.0;
  config.augment = {.dropped = 0.5, .mirror = true};
  const EntityDataset dataset(starcraft_split(config, model, Split::kTrain), {"Drone", "SCV"},
                              config, model);
  std::set<std::pair<float, float>> places;
  std::set<int64_t> counts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed), again(seed);
    const Example example = dataset.get(0, rng);
    for (const auto& [name, array] : dataset.get(0, again)) {
      EXPECT_TRUE(array.equal(example.at(name))) << name;
    }
    const int64_t count = example.at("mask").sum().item<int64_t>();
    counts.insert(count);
    for (int64_t slot = 0; slot < count; ++slot) {
      const Tensor entity = example.at("entities")[slot];
      if (example.at("type")[slot].item<int64_t>() != 0) continue;
      places.emplace(entity[kFirstScalar].item<float>(), entity[kFirstScalar + 1].item<float>());
    }
    // What is selected is near the place where it was put.
    const int64_t first = example.at("selected")[0].item<int64_t>();
    if (first < model.num_entities) {
      EXPECT_TRUE(example.at("entities")[first]
                      .slice(0, kFirstScalar, kFirstScalar + 2)
                      .equal(example.at("place")));
    }
  }
  EXPECT_EQ(counts, (std::set<int64_t>{1, 2, 3}));
  // The drone, at a corner of the rectangle: at each of them, and at those of its transpose.
  EXPECT_EQ(
      places,
      (std::set<std::pair<float, float>>{
          {10, 100}, {10, 130}, {20, 100}, {20, 130}, {100, 10}, {130, 10}, {100, 20}, {130, 20}}));
}

TEST_F(EntityData, BadLinesAreNamedWithTheirPlace) {
  const std::string a = (folder / "a.jsonl").string();
  const std::string good = state("a", R"([["SCV", 1, 2, 3, 0, 1]])");
  EXPECT_EQ(complaint(good + "{\n"), a + ":2: no JSON object, expected a state with \"entities\"");
  EXPECT_EQ(complaint(good + state("a", "[]")), a + ":2: no entities, expected at least one");
  EXPECT_EQ(complaint(good + state("a", R"([["SCV", 1, 2]])")),
            a + ":2: entity 0: got [\"SCV\",1,2], expected a list of type, owner, x, y, "
                "birth_frame, finished");
  EXPECT_EQ(complaint(good + state("a", R"([["SCV", -1, 2, 3, 0, 1]])")),
            a + ":2: entity 0: owner -1, expected a whole number from 0");
  EXPECT_EQ(complaint(good + state("a", R"([[7, 1, 2, 3, 0, 1]])")),
            a + ":2: entity 0: type 7, expected a name");
  EXPECT_EQ(complaint(good + state("a", R"([["SCV", 1, "far", 3, 0, 1]])")),
            a + ":2: entity 0: x \"far\", expected a number");
  EXPECT_EQ(complaint(R"({"replay": "a", "players": [{"pid": 1, "team": 1, "result": "Won"}]})"),
            a + ":1: result 'Won' of player 1, expected Win, Loss, Tie, Undecided or Unknown");
  EXPECT_EQ(complaint("{}"), a + ":1: no \"replay\" in this object");
  model.features.push_back("health");
  EXPECT_EQ(complaint(good),
            a + ":1: entities have no 'health', which model.entities.features asks for; they have "
                "type, owner, x, y, birth_frame, finished");
}

TEST_F(EntityData, TypesThatTheModelDoesNotKnowAreNamed) {
  config.train = {write(state("a", R"([["SCV", 1, 2, 3, 0, 1]])"))};
  config.held_out_share = 0.0;
  EXPECT_EQ(error_of([&] {
              EntityDataset(starcraft_split(config, model, Split::kTrain), {"Probe"}, config,
                            model);
            }),
            config.train[0] + ":1: type 'SCV' is none of the 1 that the model knows");
  model.num_types = 0;
  EXPECT_EQ(error_of([&] { entity_types(config, model, {}, Unreadable::kStop); }),
            config.train[0] +
                ": has 1 types of entities, the model has 0; set model.entities.num_types=1");
}

}  // namespace
}  // namespace perceiver
