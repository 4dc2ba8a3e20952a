// What a task measures of its model on held-out examples.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "perceiver/tasks/task.h"
#include "perceiver/tasks/training.h"

namespace perceiver {

class Ranks;

struct EvaluateOptions {
  at::Device device = at::kCPU;  // where the model is
  int64_t threads = 1;           // that load
  uint64_t seed = 0;             // of what is random in the examples: which words are masked
  // Told after each batch how many examples of how many are done.
  std::function<void(int64_t done, int64_t all)> progress = {};
  std::function<void()> waiting = {};                               // as the loader's
  std::function<void(const std::string& message)> unreadable = {};  // as the loader's; left out
  // Shown each batch and what was measured of it: the state of an evaluator that saw it alone. Of
  // several ranks, the first one is shown all in the end.
  std::function<void(const Example& batch, const TensorMap& state)> measured = {};
  // That share the work, a batch each in turn, and come to the same to the bit as one process.
  // Null: this one does all of it.
  Ranks* ranks = nullptr;
};

struct Evaluation {
  std::map<std::string, double> figures;  // of several ranks, the first one has them
  int64_t examples;                       // that were measured: unreadable ones are left out
};

// How many of a dataset's examples [eval] says to measure.
int64_t num_evaluated(const Dataset& dataset, const EvalConfig& config);

// As [eval] of the config says, of a task that has a Training. The model is left in the mode it
// was in.
Evaluation evaluate(Task& task, const Dataset& dataset, const EvaluateOptions& options);

// The batch on the device; from pinned memory without waiting for it.
Example to_device(const Example& batch, at::Device device);

}  // namespace perceiver
