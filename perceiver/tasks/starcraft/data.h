// States of games as the entity encoder reads them, with what is asked of each.
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/data/dataset.h"
#include "perceiver/tasks/split.h"
#include "perceiver/tasks/starcraft/objectives.h"
#include "perceiver/tasks/starcraft/states.h"

namespace perceiver {

// How training states are changed. The paper names nothing: by default, nothing is.
struct EntityAugmentConfig {
  double dropped = 0.0;
  bool mirror = false;
};

struct StarCraftDataConfig {
  std::vector<std::string> train = {}, held_out = {};
  double held_out_share = 0.15;
  std::string game_key = "replay";
  std::vector<std::string> leave_out = {};
  double memory_gib = 8.0;
  ObjectiveWeights objectives = {};
  double mask_probability = 0.15;
  double pointing_radius = 6.0;
  EntityAugmentConfig augment = {};
};

template <typename Visitor>
void fields(Visitor& visit, StarCraftDataConfig& c) {
  visit({"train", "Files of states of games (.jsonl, .jsonl.gz, .npz), or folders of them"},
        c.train);
  visit({"held_out",
         "The same, to measure on: all of their games, or, of files that are in train too, their "
         "held-out ones; empty: those of train"},
        c.held_out);
  visit({"held_out_share",
         "Share of train's games that is measured on, spread over them in the order of the files; "
         "all states of a game are on one side"},
        c.held_out_share, between(0.0, 1.0));
  visit({"game_key", "The key of a state that names its game"}, c.game_key);
  visit({"leave_out", "Types that are dropped, such as 'Beacon*'"}, c.leave_out);
  visit({"memory_gib", "Most memory that states may take"}, c.memory_gib, at_least(0.0));
  visit({"objectives", "How much each objective counts in the loss; 0: not at all"}, c.objectives);
  visit({"mask_probability", "Share of the entities whose type is hidden"}, c.mask_probability,
        between(0.0, 1.0));
  visit({"pointing_radius", "Cells around a place within which own entities are to be selected"},
        c.pointing_radius, at_least(0.0));
  visit({"dropped",
         "Most of a training state's entities that are left out, as a share; how many is drawn for "
         "each example"},
        c.augment.dropped, between(0.0, 1.0));
  visit(
      {"mirror",
       "Whether places in training states are mirrored by chance: left and right, top and bottom, "
       "x and y"},
      c.augment.mirror);
}

// Those of the states that are trained on, or that are measured; none: there are no games for it.
EntityStates starcraft_split(const StarCraftDataConfig& config, const EntityConfig& model,
                             Split split, Unreadable unreadable = Unreadable::kStop);

// Names of the types by number, sorted: `known`, else those in all files of data.train, else of
// data.held_out. Fails where there are more than the model has.
std::vector<std::string> entity_types(const StarCraftDataConfig& config, const EntityConfig& model,
                                      const std::vector<std::string>& known, Unreadable unreadable);

// Entities of a state as one of its players sees them.
struct EntityView {
  std::vector<int64_t> owners;  // of each entity of the state: EntityOwner
  std::vector<int64_t> order;   // own ones first, then allies', enemies' and nobody's
};
// Of some of them, each in the order of the file.
EntityView seen_by(const Player& self, const GameState& state, std::vector<int64_t> entities);

// Examples as objectives.h says, each seen by one of the players, drawn by chance. Where there are
// more entities than slots, own ones come first, then allies', enemies' and nobody's, each in the
// order of the file; what is left over is dropped.
class EntityDataset : public Dataset {
 public:
  // A type that is none of `types` is an Error, or, to be skipped, its example's. As config.augment
  // says, whatever they are for: those that are measured are not to be changed.
  EntityDataset(EntityStates states, const std::vector<std::string>& types,
                const StarCraftDataConfig& config, const EntityConfig& model,
                Unreadable unreadable = Unreadable::kStop);

  int64_t size() const override { return std::ssize(states_); }
  Example get(int64_t index, Rng& rng) const override;

 private:
  std::vector<GameState> states_;
  StarCraftDataConfig config_;
  EntityConfig model_;
};

}  // namespace perceiver
