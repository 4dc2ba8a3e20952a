#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"
#include "perceiver/tasks/starcraft/state_reader.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kColumns = {"type", "owner", "x", "y", "birth_frame", "finished"};

const Json& member(const Json& object, const std::string& key, const char* what) {
  const auto found = object.find(key);
  if (found == object.end()) fail("no \"{}\" in {}", key, what);
  return *found;
}

std::string text_of(const Json& value, const std::string& key) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  fail("\"{}\" is {}, expected a string or a whole number", key, value.dump().substr(0, 60));
}

// Small enough for any index and count of a game.
int64_t whole(const Json& value, const std::string& what) {
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number >= 0 && number < (int64_t{1} << 31)) return number;
  }
  fail("{} {}, expected a whole number from 0", what, value.dump().substr(0, 60));
}

int64_t result_of(const Json& player, int64_t id) {
  const auto found = player.find("result");
  if (found == player.end() || found->is_null()) return -1;
  const std::string result = found->is_string() ? found->get<std::string>() : found->dump();
  if (result == "Win") return 1;
  if (result == "Loss") return 0;
  for (const char* open : {"Tie", "Undecided", "Unknown"}) {
    if (result == open) return -1;
  }
  fail("result '{}' of player {}, expected Win, Loss, Tie, Undecided or Unknown", result, id);
}

std::vector<Player> players_of(const Json& state) {
  std::vector<Player> players;
  const auto found = state.find("players");
  if (found == state.end()) return players;
  if (!found->is_array()) fail("\"players\" is no list");
  for (const Json& one : *found) {
    if (!one.is_object()) fail("\"players\" has {}, expected objects", one.dump().substr(0, 60));
    const int64_t id = whole(member(one, "pid", "a player"), "pid");
    const int64_t team = whole(member(one, "team", "a player"), "team");
    players.push_back({id, team, result_of(one, id)});
  }
  return players;
}

class JsonState {
 public:
  JsonState(const StateFormat& format, TypeNumbers& types) : format_(format), types_(types) {}

  GameState read(std::string_view line) const {
    const Json state = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!state.is_object()) fail("no JSON object, expected a state with \"entities\"");
    GameState made;
    const Json& game = member(state, format_.game_key, "this object");
    made.game = text_of(game, format_.game_key);
    made.players = players_of(state);
    const Json& entities = member(state, "entities", "this object");
    if (!entities.is_array()) fail("\"entities\" is no list");
    if (entities.empty()) fail("no entities, expected at least one");
    const std::vector<std::string> columns = columns_of(state);
    const std::vector<size_t> wanted = wanted_of(columns);
    for (size_t i = 0; i < entities.size(); ++i) {
      try {
        add(made, entities[i], columns, wanted);
      } catch (const Error& e) {
        fail("entity {}: {}", i, e.what());
      }
    }
    if (made.types.empty()) fail("no entities are left by data.leave_out");
    return made;
  }

 private:
  static std::vector<std::string> columns_of(const Json& state) {
    const auto found = state.find("features");
    if (found == state.end()) return kColumns;
    if (!found->is_array()) fail("\"features\" is no list of names");
    std::vector<std::string> columns;
    for (const Json& name : *found) columns.push_back(text_of(name, "features"));
    return columns;
  }

  // Where type, owner and what is asked for stand.
  std::vector<size_t> wanted_of(const std::vector<std::string>& columns) const {
    std::vector<std::string> names = {"type", "owner"};
    names.insert(names.end(), format_.features.begin(), format_.features.end());
    std::vector<size_t> wanted;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(columns, name);
      if (found == columns.end()) {
        fail("entities have no '{}', which model.entities.features asks for; they have {}", name,
             fmt::join(columns, ", "));
      }
      wanted.push_back(found - columns.begin());
    }
    return wanted;
  }

  void add(GameState& state, const Json& entity, const std::vector<std::string>& columns,
           const std::vector<size_t>& wanted) const {
    if (!entity.is_array() || entity.size() != columns.size()) {
      fail("got {}, expected a list of {}", entity.dump().substr(0, 60), fmt::join(columns, ", "));
    }
    const Json& type = entity[wanted[0]];
    if (!type.is_string()) fail("type {}, expected a name", type.dump().substr(0, 60));
    const auto& name = type.get_ref<const std::string&>();
    if (is_left_out(name, format_.leave_out)) return;
    const int64_t owner = whole(entity[wanted[1]], "owner");
    for (size_t i = 2; i < wanted.size(); ++i) {
      const Json& value = entity[wanted[i]];
      const bool number = value.is_number() || value.is_boolean();
      if (!number || !std::isfinite(value.is_boolean() ? 0.0 : value.get<double>())) {
        fail("{} {}, expected a number", columns[wanted[i]], value.dump().substr(0, 60));
      }
      state.features.push_back(value.is_boolean() ? static_cast<float>(value.get<bool>())
                                                  : value.get<float>());
    }
    state.types.push_back(types_.of(name));
    state.owners.push_back(static_cast<int32_t>(owner));
  }

  const StateFormat& format_;
  TypeNumbers& types_;
};

}  // namespace

GameState state_of_json(std::string_view line, const StateFormat& format, TypeNumbers& types) {
  return JsonState(format, types).read(line);
}

}  // namespace perceiver
