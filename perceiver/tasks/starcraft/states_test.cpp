#include "perceiver/tasks/starcraft/states.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/weights/npy.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

Tensor numbers(std::vector<std::vector<double>> rows) {
  std::vector<Tensor> made;
  for (const std::vector<double>& row : rows) made.push_back(at::tensor(row, at::kDouble));
  return at::stack(made);
}

class ArraysOfStates : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    // Two states of a game, of three entities and of two.
    arrays = {
        {"type", numbers({{48, 45, 341}, {48, 341, 0}}).to(at::kInt)},
        {"owner", numbers({{1, 2, 0}, {2, 0, 9}}).to(at::kByte)},
        {"x", numbers({{1.5, 2, 3}, {4, 5, 0}}).to(at::kFloat)},
        {"health", numbers({{45, 40.5, 0}, {12, 0, NAN}}).to(at::kHalf)},
        {"mask", numbers({{1, 1, 1}, {1, 1, 0}}).to(at::kBool)},
        {"replay", at::tensor({7, 7}, at::kLong)},
        {"players", at::tensor({1, 1, 1, 2, 2, 0, 3, 1, -1, 0, 0, 0}, at::kLong).view({2, 2, 3})}};
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string file() const { return (folder / "a.npz").string(); }

  EntityStates read() const {
    write_file(file(), encode_npz({arrays.begin(), arrays.end()}));
    return read_states({folder.string()}, format, 1.0);
  }

  // The error after a change to the arrays, which is taken back.
  std::string complaint(const std::string& name, const Tensor& array) {
    const TensorMap good = arrays;
    array.defined() ? void(arrays[name] = array) : void(arrays.erase(name));
    const std::string error = error_of([&] { read(); });
    arrays = good;
    return error;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("states_" + std::to_string(getpid()));
  StateFormat format = {.game_key = "replay", .features = {"x", "health"}, .leave_out = {}};
  TensorMap arrays;
};

TEST_F(ArraysOfStates, AreReadAsTheSameStatesInLinesAre) {
  const EntityStates all = read();
  fs::remove(file());
  const char* features = R"("features": ["x", "type", "health", "owner"])";
  write_file(folder / "a.jsonl",
             fmt::format("{{\"replay\": 7, {}, \"players\": [{}, {}], \"entities\": "
                         "[[1.5, \"48\", 45, 1], [2, \"45\", 40.5, 2], [3, \"341\", 0, 0]]}}\n"
                         "{{\"replay\": 7, {}, \"players\": [{}], \"entities\": "
                         "[[4, \"48\", 12, 2], [5, \"341\", 0, 0]]}}\n",
                         features, R"({"pid": 1, "team": 1, "result": "Win"})",
                         R"({"pid": 2, "team": 2, "result": "Loss"})", features,
                         R"({"pid": 3, "team": 1, "result": "Tie"})"));
  const EntityStates lines = read_states({folder.string()}, format, 1.0);
  EXPECT_EQ(all.types, lines.types);
  ASSERT_EQ(all.states.size(), 2);
  ASSERT_EQ(lines.states.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    const GameState &a = all.states[i], &b = lines.states[i];
    EXPECT_EQ(a.game, b.game);
    EXPECT_EQ(a.types, b.types);
    EXPECT_EQ(a.owners, b.owners);
    EXPECT_EQ(a.features, b.features);
    ASSERT_EQ(a.players.size(), b.players.size());
    for (size_t p = 0; p < a.players.size(); ++p) {
      EXPECT_EQ(a.players[p].id, b.players[p].id);
      EXPECT_EQ(a.players[p].team, b.players[p].team);
      EXPECT_EQ(a.players[p].won, b.players[p].won);
    }
    EXPECT_EQ(a.place, fmt::format("{}: state {}", file(), i));
  }
}

TEST_F(ArraysOfStates, OfOneStateHaveNoDimensionOfStates) {
  for (auto& [name, array] : arrays) array = array[0].clone();
  const EntityStates all = read();
  ASSERT_EQ(all.states.size(), 1);
  EXPECT_EQ(all.states[0].features, (std::vector<float>{1.5, 45, 2, 40.5, 3, 0}));
  EXPECT_EQ(all.states[0].players.size(), 2);
  EXPECT_EQ(all.states[0].place, file());
}

TEST_F(ArraysOfStates, AFileWithoutGamesIsOne) {
  arrays.erase("replay");
  arrays.erase("players");
  format.leave_out = {"4*"};
  const EntityStates all = read();
  EXPECT_EQ(all.types, std::vector<std::string>{"341"});
  for (const GameState& state : all.states) {
    EXPECT_EQ(state.game, file());
    EXPECT_EQ(state.types.size(), 1);
    EXPECT_TRUE(state.players.empty());
  }
}

TEST_F(ArraysOfStates, MistakesAreNamedWithTheirPlace) {
  const std::string a = file();
  EXPECT_EQ(complaint("type", {}),
            a + ": no array 'type', which says what each entity is; there is health, mask, owner, "
                "players, replay, x");
  EXPECT_EQ(complaint("type", at::zeros({})),
            a + ": 'type' has shape [], expected [states, entities], or [entities] of one state");
  EXPECT_EQ(complaint("x", {}),
            a + ": no array 'x', which model.entities.features asks for; there is health, mask, "
                "owner, players, replay, type");
  EXPECT_EQ(complaint("owner", at::zeros({2, 4})),
            a + ": 'owner' has shape [2, 4], expected that of 'type', [2, 3]");
  EXPECT_EQ(complaint("replay", at::zeros({3})),
            a + ": state 0: 'replay' has 3 values, expected one for each of 2 states");
  EXPECT_EQ(complaint("players", at::zeros({2, 2})),
            a + ": state 0: 'players' has shape [2, 2], expected [2, players, 3]: pid, team and "
                "result");
  EXPECT_EQ(complaint("players", at::ones({2, 1, 3}) * 2),
            a + ": state 0: result 2 of player 2, expected 1 (win), 0 (loss) or -1 (unknown)");
  EXPECT_EQ(complaint("type", numbers({{48, 45, 341}, {48, -1, 0}})),
            a + ": state 1: entity 1: type -1, expected a whole number from 0");
  EXPECT_EQ(complaint("owner", numbers({{1, 0.5, 0}, {2, 0, 9}})),
            a + ": state 0: entity 1: owner 0.5, expected a whole number from 0");
  EXPECT_EQ(complaint("x", numbers({{1, NAN, 3}, {4, 5, 0}})),
            a + ": state 0: entity 1: x nan, expected a number");
  EXPECT_EQ(complaint("mask", numbers({{1, 1, 1}, {0, 0, 0}})),
            a + ": state 1: no entities, expected at least one");
  format.leave_out = {"*"};
  EXPECT_EQ(error_of([&] { read(); }), a + ": state 0: no entities are left by data.leave_out");
}

TEST_F(ArraysOfStates, ThatCannotBeReadAreKeptWithTheirErrorsToBeSkipped) {
  arrays["mask"] = numbers({{1, 1, 1}, {0, 0, 0}});
  format.unreadable = Unreadable::kSkip;
  const EntityStates all = read();
  EXPECT_TRUE(all.states[0].error.empty());
  EXPECT_EQ(all.states[1].error, file() + ": state 1: no entities, expected at least one");
}

TEST_F(ArraysOfStates, FilesOfOtherKindsAreNamed) {
  write_file(folder / "b.csv", "1");
  EXPECT_EQ(
      error_of([&] { read_states({(folder / "b.csv").string()}, format, 1.0); }),
      (folder / "b.csv").string() + ": expected JSON lines, .jsonl or .jsonl.gz, or arrays, .npz");
  EXPECT_EQ(error_of([&] { read_states({folder.string()}, format, 1.0); }),
            folder.string() + ": no .jsonl, .jsonl.gz or .npz files in this folder");
}

}  // namespace
}  // namespace perceiver
