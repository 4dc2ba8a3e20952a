#pragma once

#include <functional>
#include <vector>

#include "perceiver/data/dataset.h"
#include "perceiver/kernels/graph_recorder.h"
#include "perceiver/tasks/measures.h"

namespace perceiver {

// A forward and backward pass that a GPU is told once and repeats: after a few calls with batches
// of the same sizes it is recorded, one graph for each of a few sizes. On a CPU, and where
// recording fails, it is called each time.
class RecordedPass {
 public:
  struct Result {
    Loss loss;
    std::vector<Tensor> gradients;  // undefined where there is none; until the next pass
  };
  using Pass = std::function<Result(const Example& batch)>;

  explicit RecordedPass(Pass pass) : pass_(std::move(pass)) {}

  Result operator()(const Example& batch);

 private:
  Pass pass_;
  std::vector<Tensor> gradients_;  // of every recording
  GraphRecorder recorder_{{.calls_before = 3, .is_large = true}};
};

}  // namespace perceiver
