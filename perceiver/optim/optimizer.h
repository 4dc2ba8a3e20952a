// Optimisers over named parameters. Their state has names too, so that it can be saved.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/optimizer/fused_optimizer.h"

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

  // The same from gradients that are sums over examples of this weight, a scalar on their device,
  // clipped to a global norm (0: never); on a GPU in a few launches, which may write copies of the
  // parameters too: those are current after it, the others are not. What the gradients hold after
  // that is not said. -> their norm, divided and not clipped, likewise
  Tensor step(double learning_rate, const Tensor& weight, double clip,
              std::span<WeightCopy> copies = {});

  // "first.<parameter>" and "second.<parameter>". The tensors themselves: loading copies into them.
  std::vector<std::pair<std::string, Tensor>> state() const;
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 protected:
  // values -= learning_rate * what the rule makes of `updates`, m / (sqrt(v) + epsilon) each, with
  // both moments corrected for their start at zero.
  virtual void apply(std::vector<Tensor> updates, double learning_rate) = 0;
  // The kernels that follow the same rule on a GPU; none: apply() does it there, too.
  virtual std::optional<FusedStep> fused_step() const { return {}; }

  OptimizerOptions options_;
  std::vector<std::string> names_;
  std::vector<Tensor> values_;
  std::vector<Tensor> decayed_;     // those of values_ that are decayed
  std::vector<size_t> decayed_at_;  // where they are

 private:
  std::vector<Tensor> gradients() const;
  FusedOptimizer* fused(double clip);

  std::vector<Tensor> first_, second_;
  std::unique_ptr<FusedOptimizer> fused_;
  std::optional<double> fused_clip_;  // that fused_ was made for, or was found impossible with
  int64_t steps_ = 0;
};

// Norm of all gradients together; scales them down to `clip` where it is larger (0: never).
// -> the norm before that, a scalar on their device.
Tensor clip_by_global_norm(const std::vector<Tensor>& gradients, double clip);

}  // namespace perceiver
