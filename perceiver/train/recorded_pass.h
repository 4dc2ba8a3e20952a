#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/measures.h"

namespace perceiver {

// A forward and backward pass that a GPU is told once and repeats: after a few calls with batches
// of the same sizes its kernels are recorded as a CUDA graph, one for each of a few sizes, and
// replayed from then on. On a CPU, and where recording fails, it is called each time.
class RecordedPass {
 public:
  struct Result {
    Loss loss;
    std::vector<Tensor> gradients;  // undefined where there is none; until the next pass
  };
  using Pass = std::function<Result(const Example& batch)>;

  explicit RecordedPass(Pass pass);
  ~RecordedPass();

  Result operator()(const Example& batch);

 private:
  class Recordings;
  Pass pass_;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace perceiver
