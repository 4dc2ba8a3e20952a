// The optimiser of a training that several ranks may share: each keeps the state of some parameters
// alone (train.shard_optimizer), whole tensors, as LAMB needs the norms of whole ones. What comes
// of a step is the same to the bit.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perceiver/optim/optimizer.h"
#include "perceiver/ranks/ranks.h"
#include "perceiver/tasks/train_config.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

class SharedOptimizer {
 public:
  // `ranks` null: all of it is here.
  SharedOptimizer(std::vector<NamedParameter> parameters, const TrainConfig& config, Ranks* ranks);

  // As Optimizer's.
  Tensor step(double learning_rate, const Tensor& weight, double clip,
              std::span<WeightCopy> copies);
  void set_steps(int64_t steps) { optimizer_->set_steps(steps); }

  // What this rank keeps, the tensors themselves: all of the state where it is not shared.
  NamedTensors own_state() const { return optimizer_->state(); }

  // Called by all ranks. On the first: the whole state, of others in copies; else nothing.
  NamedTensors gather_state() const;

  // Takes over the whole state, which other ranks get by spread_state(). -> the name that is
  // missing in it; empty: none
  std::string take_state(const TensorMap& whole);

  // Called by all ranks: they go on from what the first one has.
  void spread_state();

 private:
  // Calls `use` with each moment of each parameter by name, at once on all ranks.
  template <typename Use>
  void for_each_moment(const Use& use) const;

  Ranks* ranks_;
  bool is_shared_;
  TensorMap taken_ = {};  // that others are still to get
  std::vector<std::string> names_;
  std::vector<Tensor> values_;
  std::vector<int64_t> owners_;  // of each
  std::unique_ptr<Optimizer> optimizer_;
};

// Which of `count` ranks keeps each tensor: the largest first, to whoever has least.
std::vector<int64_t> owners_of(const std::vector<Tensor>& tensors, int64_t count);

}  // namespace perceiver
