// The class through which the command line, the trainer and the server know an experiment of the
// paper.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/model/summary.h"

namespace perceiver {

enum class Split { kTrain, kEval };

// One experiment of the paper: a model, and what it is run on.
class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  // The arrays and parts of a forward pass of one example. Some models are trained on fewer
  // queries than they are evaluated with.
  virtual ModelSummary summary(Split split) const = 0;

  // A forward pass on random inputs of the right sizes -> the outputs [B, O, E], as `split` asks
  // for them: for benchmarks, and to prove what summary() counts.
  virtual Tensor forward_random(int64_t batch, Split split) = 0;
};

// What a task's folder offers to the registry.
using MakeTask = std::unique_ptr<Task>(const File& config, std::span<const std::string> overrides);

// The task that `config` names in its key `task`, its model constructed as the
// surrounding ConstructScope says. `overrides` are "model.encoder.num_latents=256" and the like.
std::unique_ptr<Task> make_task(const File& config, std::span<const std::string> overrides = {});

}  // namespace perceiver
