// What can be trained on public states of games, where AlphaStar's actions, and so the paper's
// behavioural cloning (App. B), are not to be had: stand-ins for it.
//   masked type: of entities whose type is hidden
//   winner:      whether the player whose view it is wins, of all entities together
//   pointing:    the player's own entities near a place, selected one after another
#pragma once

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/tasks/starcraft/pointer.h"

namespace perceiver {

// How much each counts in the loss; 0: not trained, nor measured.
struct ObjectiveWeights {
  double masked_type = 1.0, winner = 1.0, pointing = 1.0;
};

template <typename Visitor>
void fields(Visitor& visit, ObjectiveWeights& c) {
  visit({"masked_type", "Naming the types of entities whose type is hidden"}, c.masked_type,
        at_least(0.0));
  visit({"winner", "Saying whether the player whose view it is wins"}, c.winner, at_least(0.0));
  visit({"pointing", "Selecting the player's own entities near a place, one after another"},
        c.pointing, at_least(0.0));
}

class EntityObjectivesImpl : public torch::nn::Module {
 public:
  explicit EntityObjectivesImpl(const EntityConfig& config);

  Tensor types(const EntityEncoding& encoding);   // -> logits [B, M, num_types]
  Tensor winner(const EntityEncoding& encoding);  // -> logits [B, 2]: loss, win
  EntityPointerImpl& pointer() { return *pointer_; }

  std::vector<Part> parts(int64_t num_entities) const;  // "masked_type", "winner", "pointer"

 private:
  Linear type_{nullptr}, winner_{nullptr};
  EntityPointer pointer_{nullptr};
};
TORCH_MODULE(EntityObjectives);

// Batches hold, beside entities [B, M, F] and mask [B, M]: type [B, M] as it is and hidden [B, M]
// (true: not shown), won [B] (1, 0, or -1 where nobody says), place [B, 2], selected [B, S].

// -> [B]: the loss of each example. Reads nothing back from the device.
Tensor objective_losses(EntityObjectivesImpl& heads, const EntityEncoding& encoding,
                        const Example& batch, const ObjectiveWeights& weights);

Measures measure_objectives(EntityObjectivesImpl& heads, const EntityEncoding& encoding,
                            const Example& batch, const ObjectiveWeights& weights);

// Of all measures added up: accuracies, and what the best constant answers get.
std::map<std::string, double> objective_figures(const Measures& all);

}  // namespace perceiver
