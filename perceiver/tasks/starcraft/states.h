// States of games as files have them: sets of entities, and the players.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "perceiver/tasks/starcraft/entities.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

struct Player {
  int64_t id, team;
  int64_t won;  // 1, 0, or -1: nobody says
};

struct GameState {
  std::string game;             // its name: states of one are never on both sides of a split
  std::vector<Player> players;  // may be empty
  std::vector<int32_t> types;   // of each entity, as EntityStates::types numbers them
  std::vector<int32_t> owners;  // players' ids; 0: nobody
  std::vector<float> features;  // [entities, features]
  std::string place;            // "games.jsonl:3"
  std::string error;            // why it cannot be read; empty: it can
};

struct EntityStates {
  std::vector<std::string> types;  // by number, in the order of their first entities
  std::vector<GameState> states;
};

// How files are read.
struct StateFormat {
  std::string game_key;                // the key whose value names a game
  std::vector<std::string> features;   // what is asked of each entity beside type and owner
  std::vector<std::string> leave_out;  // types that are dropped; a * at the end stands for anything
  Unreadable unreadable = Unreadable::kStop;
};

// Of files, and of folders all of these, at any depth:
// - JSON lines, plain or .gz, a state a line: an object with game_key, "players" (objects with
//   "pid", "team" and "result") and "entities", lists of [type, owner, x, y, birth frame,
//   finished], or of what "features" names.
// - .npz: arrays of numbers [states, entities], or [entities] of one state: "type", "owner" and one
//   for each feature by its name; where entities differ in number, "mask" (0: none here). Maybe
//   "players" [states, players, 3], pid (0: none here), team and result (1 win, 0 loss, -1), and
//   game_key [states]; without it a file is a game. A type's name is its number.
// Fails beyond `memory_gib` of states.
EntityStates read_states(const std::vector<std::string>& paths, const StateFormat& format,
                         double memory_gib);

}  // namespace perceiver
