// The batch norms of a model whose batches come in parts, led through a step: what they count and
// what goes back through it is that of the whole batch (nn/batch_parts.h).
#pragma once

#include <functional>
#include <vector>

#include "perceiver/nn/batch_parts.h"

namespace perceiver {

class WholeBatchNorm {
 public:
  // While this lives, the model's batch norms know that their batches are parts. A norm must not
  // depend on one that is registered after it.
  explicit WholeBatchNorm(torch::nn::Module& model);
  ~WholeBatchNorm();
  WholeBatchNorm(const WholeBatchNorm&) = delete;

  bool empty() const { return norms_.empty(); }  // the model has none

  // Mean and variance of each, one after the other, where they are for good.
  std::vector<Tensor> statistics() const;

  // Before the passes. `pass` puts all parts of this process through the model, each until
  // BatchNormReached is thrown; `sum` adds up over processes.
  void count(const std::function<void()>& pass,
             const std::function<void(const std::vector<Tensor>&)>& sum);

  // After them. The gradients of the parameters and then of statistics(), sums over all parts and
  // processes, get those that come through the statistics. `pass` does as before and returns what
  // gradients it has made of all of these, summed likewise; undefined: none.
  void send_back(const std::vector<Tensor>& gradients,
                 const std::function<std::vector<Tensor>()>& pass);

 private:
  struct Norm {
    BatchNorm module;
    BatchParts parts;
  };
  std::vector<Norm> norms_;
};

}  // namespace perceiver
