// Optimisers over named parameters. Their state has names too, so that it can be saved.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

struct NamedParameter {
  std::string name;
  Tensor value;
};

struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
  double weight_decay = 0.01;
};

// Which tensors DeepMind's code decays: all but biases and what is inside a normalisation. Latents,
// positions and queries are decayed.
bool is_decayed(const std::string& name);

// First and second moments of the gradients, as Adam and LAMB both keep them.
class Optimizer {
 public:
  Optimizer(std::vector<NamedParameter> parameters, const OptimizerOptions& options);
  virtual ~Optimizer() = default;

  // Moves the parameters along what their gradients, which must be there, have been so far.
  void step(double learning_rate);

  // "first.<parameter>" and "second.<parameter>". The tensors themselves: loading copies into them.
  std::vector<std::pair<std::string, Tensor>> state() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  // values -= learning_rate * what the rule makes of `updates`, m / (sqrt(v) + epsilon) each, with
  // both moments corrected for their start at zero.
  virtual void apply(std::vector<Tensor> updates, double learning_rate) = 0;

  OptimizerOptions options_;
  std::vector<std::string> names_;
  std::vector<Tensor> values_;
  std::vector<Tensor> decayed_;     // those of values_ that are decayed
  std::vector<size_t> decayed_at_;  // where they are

 private:
  std::vector<Tensor> first_, second_;
  int64_t steps_ = 0;
};

// Norm of all gradients together; scales them down to `clip` where it is larger (0: never).
// -> the norm before that, a scalar on their device.
Tensor clip_by_global_norm(const std::vector<Tensor>& gradients, double clip);

}  // namespace perceiver
