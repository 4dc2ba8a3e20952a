#include "perceiver/tasks/starcraft/data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/data/rows.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

StateFormat format_of(const StarCraftDataConfig& config, const EntityConfig& model,
                      Unreadable unreadable) {
  return {config.game_key, model.features, config.leave_out, unreadable};
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

// Whether the games measured are a share of those in the training files.
bool shares_files(const StarCraftDataConfig& config) {
  return config.held_out.empty() || std::ranges::any_of(config.held_out, [&](const auto& path) {
           return std::ranges::any_of(config.train,
                                      [&](const auto& other) { return is_same_file(path, other); });
         });
}

// Games in the order of their first states.
std::vector<std::string> games_of(const EntityStates& states) {
  std::vector<std::string> games;
  std::set<std::string> seen;
  for (const GameState& state : states.states) {
    if (state.error.empty() && seen.insert(state.game).second) games.push_back(state.game);
  }
  return games;
}

std::set<std::string> held_out_games(const EntityStates& states, double share) {
  const std::vector<std::string> games = part_of(games_of(states), share, /*held_out=*/true);
  return {games.begin(), games.end()};
}

// An unreadable state belongs to no game, and is trained on, that is, skipped and told of there.
void keep_games(EntityStates& states, const std::set<std::string>& games, bool wanted) {
  std::erase_if(states.states, [&](const GameState& state) {
    return (state.error.empty() && games.contains(state.game)) != wanted;
  });
}

int64_t owner_of(const GameState& state, int32_t owner, const Player& self) {
  if (owner == 0) return kNobody;
  if (owner == self.id) return kOwn;
  const auto found = std::ranges::find(state.players, owner, &Player::id);
  // Whoever is no player of the list, such as the computer, is nobody's ally.
  return found != state.players.end() && found->team == self.team ? kAlly : kEnemy;
}

// Whose view it is: a player's; where none are listed, that of an owner.
Player drawn_player(const GameState& state, Rng& rng) {
  if (!state.players.empty()) return state.players[rng.integer(std::ssize(state.players))];
  std::set<int32_t> owners(state.owners.begin(), state.owners.end());
  owners.erase(0);
  if (owners.empty()) return {0, 0, -1};
  return {*std::next(owners.begin(), rng.integer(std::ssize(owners))), 0, -1};
}

// At least one, so that every example has something to learn.
std::vector<bool> drawn_hidden(int64_t count, double probability, Rng& rng) {
  std::vector<bool> hidden(count);
  for (int64_t i = 0; i < count; ++i) hidden[i] = rng.chance(probability);
  const int64_t one = rng.integer(count);
  if (std::ranges::none_of(hidden, [](bool is) { return is; })) hidden[one] = true;
  return hidden;
}

struct Place {
  float x = 0.0f, y = 0.0f;
};

// Mirrors places within the rectangle that a state's entities take.
struct Mirror {
  bool x = false, y = false, across = false;
  Place sum = {};  // of the least and the greatest place

  Place operator()(Place place) const {
    if (x) place.x = sum.x - place.x;
    if (y) place.y = sum.y - place.y;
    if (across) std::swap(place.x, place.y);
    return place;
  }
};

// Where x and y stand among the features of an entity.
struct PlaceColumns {
  int64_t x, y, all;

  Place of(const GameState& state, int64_t entity) const {
    const float* features = state.features.data() + entity * all;
    return {features[x], features[y]};
  }
};

Mirror drawn_mirror(const GameState& state, PlaceColumns columns, Rng& rng) {
  const bool x = rng.chance(0.5), y = rng.chance(0.5), across = rng.chance(0.5);
  Place least = columns.of(state, 0), greatest = least;
  for (int64_t i = 1; i < std::ssize(state.types); ++i) {
    const Place place = columns.of(state, i);
    least = {std::min(least.x, place.x), std::min(least.y, place.y)};
    greatest = {std::max(greatest.x, place.x), std::max(greatest.y, place.y)};
  }
  return {x, y, across, {least.x + greatest.x, least.y + greatest.y}};
}

// The entities of a state that an example is made of, at least one.
std::vector<int64_t> drawn_entities(const GameState& state, double dropped, Rng& rng) {
  std::vector<int64_t> all(state.types.size());
  std::iota(all.begin(), all.end(), 0);
  if (dropped == 0.0) return all;
  const double share = rng.uniform(0.0, dropped);
  const int64_t one = rng.integer(std::ssize(all));
  std::erase_if(all, [&](int64_t i) { return rng.chance(share) && i != one; });
  return all;
}

// Own entities within the radius of the place, the nearest first, at most as many as the model
// selects: slots.
std::vector<int64_t> near(const std::vector<Place>& own, Place place, double radius, int64_t most) {
  const auto distance = [&](int64_t i) {
    return std::hypot(own[i].x - place.x, own[i].y - place.y);
  };
  std::vector<int64_t> slots(own.size());
  std::iota(slots.begin(), slots.end(), 0);
  std::erase_if(slots, [&](int64_t i) { return distance(i) > radius; });
  std::ranges::stable_sort(slots, {}, distance);
  if (std::ssize(slots) > most) slots.resize(most);
  return slots;
}

}  // namespace

EntityStates starcraft_split(const StarCraftDataConfig& config, const EntityConfig& model,
                             Split split, Unreadable unreadable) {
  const StateFormat format = format_of(config, model, unreadable);
  const bool measured = split == Split::kEval, shared = shares_files(config);
  const auto& paths = measured && !shared ? config.held_out : config.train;
  if (paths.empty()) {
    fail("data.{} names no files; give .jsonl, .jsonl.gz or .npz files of states with --data",
         measured ? "held_out" : "train");
  }
  EntityStates states = read_states(paths, format, config.memory_gib);
  if (measured && !shared) return states;
  std::set<std::string> games = held_out_games(states, config.held_out_share);
  const size_t all = games_of(states).size();
  if (!shared) {
    const std::vector<std::string> others =
        games_of(read_states(config.held_out, format, config.memory_gib));
    games = {others.begin(), others.end()};
  } else if (measured && config.held_out_share == 0.0) {
    return {};
  }
  keep_games(states, games, measured);
  if (std::ranges::all_of(states.states, [](const auto& one) { return !one.error.empty(); })) {
    fail("{}: {} of {} games {} held out, which leaves none to {}", paths[0], games.size(), all,
         games.size() == 1 ? "is" : "are", measured ? "measure" : "train on");
  }
  return states;
}

std::vector<std::string> entity_types(const StarCraftDataConfig& config, const EntityConfig& model,
                                      const std::vector<std::string>& known,
                                      Unreadable unreadable) {
  if (!known.empty()) return known;
  const auto& paths = config.train.empty() ? config.held_out : config.train;
  std::vector<std::string> types =
      read_states(paths, format_of(config, model, unreadable), config.memory_gib).types;
  std::ranges::sort(types);
  if (std::ssize(types) > model.num_types) {
    fail("{}: has {} types of entities, the model has {}; set model.entities.num_types={}",
         paths[0], types.size(), model.num_types, types.size());
  }
  return types;
}

EntityView seen_by(const Player& self, const GameState& state, std::vector<int64_t> entities) {
  EntityView view{std::vector<int64_t>(state.types.size(), kNobody), std::move(entities)};
  for (const int64_t i : view.order) view.owners[i] = owner_of(state, state.owners[i], self);
  std::ranges::stable_sort(view.order, {}, [&](int64_t i) {
    return view.owners[i] == kNobody ? static_cast<int64_t>(kNumEntityOwners) : view.owners[i];
  });
  return view;
}

EntityDataset::EntityDataset(EntityStates states, const std::vector<std::string>& types,
                             const StarCraftDataConfig& config, const EntityConfig& model,
                             Unreadable unreadable)
    : states_(std::move(states.states)), config_(config), model_(model) {
  if (model.num_owners < kNumEntityOwners) {
    fail(
        "model.entities.num_owners ({}) must be at least {}: nobody, the player, an ally, an enemy",
        model.num_owners, static_cast<int64_t>(kNumEntityOwners));
  }
  std::map<std::string, int32_t> numbers;
  for (size_t i = 0; i < types.size(); ++i) numbers.emplace(types[i], i);
  for (GameState& state : states_) {
    for (int32_t& type : state.types) {
      const std::string& name = states.types[type];
      const auto found = numbers.find(name);
      type = found == numbers.end() ? 0 : found->second;
      if (found != numbers.end() || !state.error.empty()) continue;
      state.error = fmt::format("{}: type '{}' is none of the {} that the model knows", state.place,
                                name, types.size());
      if (unreadable == Unreadable::kStop) throw Error(state.error);
    }
  }
}

Example EntityDataset::get(int64_t index, Rng& rng) const {
  const GameState& state = states_[index];
  if (!state.error.empty()) throw Error(state.error);
  const Player self = drawn_player(state, rng);
  const auto [owners, order] =
      seen_by(self, state, drawn_entities(state, config_.augment.dropped, rng));
  const int64_t slots = model_.num_entities, scalars = std::ssize(model_.features);
  const int64_t count = std::min(slots, std::ssize(order));
  const bool hides = config_.objectives.masked_type > 0.0;
  const std::vector<bool> is_hidden = drawn_hidden(count, config_.mask_probability, rng);

  Tensor entities = at::zeros({slots, num_features(model_)}), mask = at::zeros({slots}, at::kBool);
  Tensor types = at::zeros({slots}, at::kLong), hidden = at::zeros({slots}, at::kBool);
  auto values = entities.accessor<float, 2>();
  const auto column = [&](const char* name) {
    return std::ranges::find(model_.features, name) - model_.features.begin();
  };
  const PlaceColumns columns{column("x"), column("y"), scalars};
  Mirror mirror;
  if (config_.augment.mirror) mirror = drawn_mirror(state, columns, rng);
  const bool has_places = columns.x < scalars && columns.y < scalars;
  std::vector<Place> own;  // they have the first slots
  for (int64_t slot = 0; slot < count; ++slot) {
    const int64_t i = order[slot];
    types[slot] = state.types[i];
    mask[slot] = true;
    hidden[slot] = hides && is_hidden[slot];
    values[slot][kType] =
        static_cast<float>(hides && is_hidden[slot] ? hidden_type(model_) : state.types[i]);
    values[slot][kOwner] = static_cast<float>(owners[i]);
    const float* features = state.features.data() + i * scalars;
    std::copy_n(features, scalars, &values[slot][kFirstScalar]);
    if (!has_places) continue;
    const Place place = mirror(columns.of(state, i));
    values[slot][kFirstScalar + columns.x] = place.x;
    values[slot][kFirstScalar + columns.y] = place.y;
    if (owners[i] == kOwn && config_.objectives.pointing > 0.0) own.push_back(place);
  }
  const Place place = own.empty() ? Place{} : own[rng.integer(std::ssize(own))];
  std::vector<int64_t> selected = near(own, place, config_.pointing_radius, model_.max_selected);
  selected.resize(model_.max_selected, slots);
  return {{"entities", entities},
          {"mask", mask},
          {"type", types},
          {"hidden", hidden},
          {"won", at::scalar_tensor(self.won, at::kLong)},
          {"place", at::tensor({place.x, place.y})},
          {"selected", at::tensor(selected, at::kLong)}};
}

}  // namespace perceiver
