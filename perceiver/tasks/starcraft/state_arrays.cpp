#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "perceiver/core/error.h"
#include "perceiver/tasks/starcraft/state_reader.h"
#include "perceiver/weights/npy.h"

namespace perceiver {
namespace {

constexpr int64_t kPlayerColumns = 3;  // pid, team, result

// Small enough for any index of a game.
int64_t whole(double value, const std::string& what) {
  if (std::trunc(value) == value && value >= 0.0 && value < 0x1p31) {
    return static_cast<int64_t>(value);
  }
  fail("{} {}, expected a whole number from 0", what, value);
}

// A row of [states, n], in numbers that hold any of what is asked for.
Tensor row_of(const Tensor& array, int64_t index) {
  return array.select(0, index).to(at::kDouble).contiguous();
}

}  // namespace

StateArrays::StateArrays(const std::filesystem::path& file, const StateFormat& format)
    : file_(file.string()), format_(format), arrays_(read_npz(file)) {
  const auto found = arrays_.find("type");
  if (found == arrays_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, array] : arrays_) names.push_back(name);
    fail("{}: no array 'type', which says what each entity is; there is {}", file_,
         fmt::join(names, ", "));
  }
  const int64_t dims = found->second.dim();
  if (dims != 1 && dims != 2) {
    fail("{}: 'type' has shape {}, expected [states, entities], or [entities] of one state", file_,
         to_string(found->second.sizes()));
  }
  one_state_ = dims == 1;
  num_states_ = one_state_ ? 1 : found->second.size(0);
  type_ = of_entities("type");
  owner_ = of_entities("owner");
  for (const std::string& name : format.features) features_.push_back(of_entities(name));
  mask_ = arrays_.contains("mask") ? of_entities("mask") : at::ones({}).expand(type_.sizes());
}

Tensor StateArrays::of_entities(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) {
    std::vector<std::string> names;
    for (const auto& [other, array] : arrays_) names.push_back(other);
    fail("{}: no array '{}', which model.entities.features asks for; there is {}", file_, name,
         fmt::join(names, ", "));
  }
  const at::IntArrayRef expected = arrays_.at("type").sizes();
  if (found->second.sizes() != expected) {
    fail("{}: '{}' has shape {}, expected that of 'type', {}", file_, name,
         to_string(found->second.sizes()), to_string(expected));
  }
  return one_state_ ? found->second.unsqueeze(0) : found->second;
}

std::string StateArrays::place(int64_t index) const {
  return one_state_ ? file_ : fmt::format("{}: state {}", file_, index);
}

void StateArrays::read_players(int64_t index, GameState& state) const {
  const auto found = arrays_.find("players");
  if (found == arrays_.end()) return;
  const Tensor players = one_state_ ? found->second.unsqueeze(0) : found->second;
  if (players.dim() != 3 || players.size(0) != num_states_ || players.size(2) != kPlayerColumns) {
    fail("'players' has shape {}, expected {}players, 3]: pid, team and result",
         to_string(found->second.sizes()), one_state_ ? "[" : fmt::format("[{}, ", num_states_));
  }
  const Tensor rows = row_of(players, index);
  const auto values = rows.accessor<double, 2>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const int64_t id = whole(values[i][0], "pid");
    if (id == 0) continue;  // where a game has fewer players than another
    const double result = values[i][2];
    if (result != 1.0 && result != 0.0 && result != -1.0) {
      fail("result {} of player {}, expected 1 (win), 0 (loss) or -1 (unknown)", result, id);
    }
    state.players.push_back({id, whole(values[i][1], "team"), static_cast<int64_t>(result)});
  }
}

GameState StateArrays::read(int64_t index, TypeNumbers& types) const {
  GameState state;
  const auto game = arrays_.find(format_.game_key);
  state.game = file_;
  if (game != arrays_.end()) {
    if (game->second.numel() != num_states_) {
      fail("'{}' has {} values, expected one for each of {} states", format_.game_key,
           game->second.numel(), num_states_);
    }
    const Tensor name = game->second.reshape({-1})[index];
    state.game = at::isIntegralType(name.scalar_type(), /*includeBool=*/true)
                     ? std::to_string(name.item<int64_t>())
                     : fmt::format("{}", name.item<double>());
  }
  read_players(index, state);
  const Tensor mask = row_of(mask_, index), type = row_of(type_, index);
  const Tensor owner = row_of(owner_, index);
  std::vector<Tensor> features;
  for (const Tensor& feature : features_) features.push_back(row_of(feature, index));
  const auto add = [&](int64_t i) {
    const auto at = [&](const Tensor& row) { return row.const_data_ptr<double>()[i]; };
    const std::string name = std::to_string(whole(at(type), "type"));
    if (is_left_out(name, format_.leave_out)) return;
    state.owners.push_back(static_cast<int32_t>(whole(at(owner), "owner")));
    for (size_t f = 0; f < features.size(); ++f) {
      const double value = at(features[f]);
      if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
        fail("{} {}, expected a number", format_.features[f], value);
      }
      state.features.push_back(static_cast<float>(value));
    }
    state.types.push_back(types.of(name));
  };
  if (!mask.any().item<bool>()) fail("no entities, expected at least one");
  for (int64_t i = 0; i < type.size(0); ++i) {
    if (mask.const_data_ptr<double>()[i] == 0.0) continue;
    try {
      add(i);
    } catch (const Error& e) {
      fail("entity {}: {}", i, e.what());
    }
  }
  if (state.types.empty()) fail("no entities are left by data.leave_out");
  return state;
}

}  // namespace perceiver
