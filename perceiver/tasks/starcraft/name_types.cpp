#include "perceiver/tasks/starcraft/name_types.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "perceiver/tasks/starcraft/data.h"
#include "perceiver/tasks/starcraft/model.h"

namespace perceiver {
namespace {

// Types of a file's states by the model's numbers; those that it does not know are left out.
class KnownTypes {
 public:
  KnownTypes(const std::vector<std::string>& of_file, const Model& model, int64_t hidden)
      : names_(of_file) {
    std::map<std::string, int64_t> numbers = {{std::string(kUnknownType), hidden}};
    for (size_t i = 0; i < model.labels.size(); ++i) {
      numbers.emplace(model.labels[i], static_cast<int64_t>(i));
    }
    for (const std::string& name : of_file) {
      const auto found = numbers.find(name);
      numbers_.push_back(found == numbers.end() ? -1 : found->second);
    }
  }

  int64_t operator[](int32_t type) const { return numbers_[type]; }  // -1: not known
  const std::string& name(int32_t type) const { return names_[type]; }

 private:
  const std::vector<std::string>& names_;
  std::vector<int64_t> numbers_;
};

// Whose view it is.
Player viewer_of(const GameState& state) {
  if (!state.players.empty()) return state.players[0];
  const auto owner = std::ranges::find_if(state.owners, [](int32_t one) { return one != 0; });
  return {owner == state.owners.end() ? 0 : *owner, 0, -1};
}

class TypeNamer {
 public:
  TypeNamer(Model& model, int64_t top)
      : model_(model),
        impl_(model_as<StarCraftImpl>(model, "to name entities", "starcraft")),
        config_(model.settings->model<StarCraftConfig>()->entities),
        top_(top) {
    if (model.labels.empty()) {
      fail("{}: has no names of types (labels.txt); train one on states of games", model.source);
    }
  }

  const EntityConfig& config() const { return config_; }

  NamedState name(const GameState& state, const KnownTypes& types) {
    NamedState named{.place = state.place};
    std::set<std::string> strange;
    std::vector<int64_t> known(state.types.size());
    std::iota(known.begin(), known.end(), 0);
    std::erase_if(known, [&](int64_t i) {
      if (types[state.types[i]] >= 0) return false;
      return strange.insert(types.name(state.types[i])), true;
    });
    named.strange.assign(strange.begin(), strange.end());
    const auto [owners, order] = seen_by(viewer_of(state), state, std::move(known));
    if (std::ssize(order) > config_.num_entities) {
      fail("{}: has {} entities, the model has room for {}", state.place, order.size(),
           config_.num_entities);
    }
    const Tensor logits = logits_of(state, types, owners, order);
    for (size_t slot = 0; slot < order.size(); ++slot) {
      if (types[state.types[order[slot]]] != hidden_type(config_)) continue;
      const Tensor probabilities = logits[static_cast<int64_t>(slot)].softmax(-1).cpu();
      named.entities.push_back(
          {order[slot], likeliest_classes(probabilities, model_.labels, top_)});
    }
    if (named.entities.empty()) {
      fail("{}: no entity of the type \"{}\", expected one or more to be named", state.place,
           kUnknownType);
    }
    std::ranges::sort(named.entities, {}, &NamedEntity::entity);
    return named;
  }

 private:
  // -> [slots, types]
  Tensor logits_of(const GameState& state, const KnownTypes& types,
                   const std::vector<int64_t>& owners, const std::vector<int64_t>& order) {
    const auto scalars = static_cast<int64_t>(config_.features.size());
    Tensor entities = at::zeros({config_.num_entities, num_features(config_)});
    auto values = entities.accessor<float, 2>();
    const auto count = static_cast<int64_t>(order.size());
    for (int64_t slot = 0; slot < count; ++slot) {
      const int64_t i = order[slot];
      values[slot][kType] = static_cast<float>(types[state.types[i]]);
      values[slot][kOwner] = static_cast<float>(owners[i]);
      std::copy_n(state.features.data() + i * scalars, scalars, &values[slot][kFirstScalar]);
    }
    const Tensor mask = at::arange(config_.num_entities).lt(count).unsqueeze(0);
    const EntityEncoding encoding =
        impl_.forward(to_model(impl_, entities.unsqueeze(0)), to_model(impl_, mask));
    return impl_.objectives().types(encoding)[0].to(at::kFloat);
  }

  Model& model_;
  StarCraftImpl& impl_;
  EntityConfig config_;
  int64_t top_;
};

}  // namespace

std::vector<NamedState> name_types(Model& model, const std::string& file, int64_t top) {
  const at::NoGradGuard no_grad;
  TypeNamer namer(model, top);
  const StarCraftDataConfig defaults;
  const EntityStates states =
      read_states({file}, {defaults.game_key, namer.config().features, {}, Unreadable::kStop},
                  defaults.memory_gib);
  const KnownTypes types(states.types, model, hidden_type(namer.config()));
  std::vector<NamedState> named;
  for (const GameState& state : states.states) named.push_back(namer.name(state, types));
  return named;
}

nlohmann::ordered_json to_json(const NamedState& state) {
  nlohmann::ordered_json json = {{"state", state.place}, {"entities", nlohmann::json::array()}};
  for (const NamedEntity& one : state.entities) {
    json["entities"].push_back({{"entity", one.entity}, {"top", to_json(one.top)}});
  }
  if (!state.strange.empty()) json["left_out"] = state.strange;
  return json;
}

}  // namespace perceiver
