// AlphaStar's pointer network (paper, Tab. 5, App. B; Vinyals et al. 2019, "selected units"):
// entities are selected one after another, until the end token.
#pragma once

#include "perceiver/tasks/starcraft/entities.h"

namespace perceiver {

// What is selected of a state, as slots: those of the entities in order, then num_entities, which
// stands for the end token.
class EntityPointerImpl : public torch::nn::Module {
 public:
  explicit EntityPointerImpl(const EntityConfig& config);

  // Teacher-forced: place [B, 2] in cells of the map, selected [B, S] -> logits [B, S + 1, M + 1]
  // of the next entity after each part of the selection; -inf where there is no entity, or one that
  // is selected already. The last is the end token's.
  Tensor forward(const EntityEncoding& encoding, const Tensor& mask, const Tensor& place,
                 const Tensor& selected);

  // The likeliest next one again and again -> selected [B, S]
  Tensor select(const EntityEncoding& encoding, const Tensor& mask, const Tensor& place);

  std::vector<Part> parts(int64_t num_entities) const;

 private:
  struct Memory {
    Tensor hidden, cell;  // [B, P]
  };

  Tensor keys_of(const EntityEncoding& encoding);                        // [B, M + 1, P]
  Tensor start_of(const EntityEncoding& encoding, const Tensor& place);  // [B, 1, E]
  // sums [B, 1, P]: of the keys selected so far
  Memory step(const Tensor& start, const Tensor& sums, const Memory& before);
  Tensor scores_of(const Tensor& hidden, const Tensor& keys) const;  // [B, s, P] -> [B, s, M + 1]

  const EntityConfig config_;
  Linear keys_{nullptr}, place_{nullptr}, selected_{nullptr}, query_{nullptr}, gates_{nullptr};
  Tensor end_key_;  // [P]
};
TORCH_MODULE(EntityPointer);

// Slots [B, S] -> [B, S + 1, M + 1]: 1 for each entity selected before step s; never the end token.
Tensor selected_before(const Tensor& selected, int64_t num_entities);

}  // namespace perceiver
