#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/optimizer/fused_optimizer.h"
#include "perceiver/kernels/run.h"

namespace perceiver {

// Weights as the products of a training pass take them, narrow and stacked. All that earlier passes
// asked for is made before a pass, in a few kernels instead of one for each, or by the optimiser.
class NarrowWeights {
 public:
  // Makes those that are not current.
  void refresh();

  // Whoever changes a weight says here which copies went along.
  std::span<WeightCopy> copies() { return copies_; }

  // While it lives, stacked_weights() on this thread come from here, as refresh() left them.
  struct Scope : RunScope {
    explicit Scope(NarrowWeights& weights)
        : RunScope([&](Run& run) { run.narrow_weights = &weights; }) {}
  };

 private:
  friend Tensor stacked_weights(at::TensorList weights, at::ScalarType dtype, int64_t out,
                                int64_t in);
  Tensor stacked(at::TensorList weights, at::ScalarType dtype, int64_t out, int64_t in);

  using Key = std::tuple<const void*, size_t, at::ScalarType, int64_t, int64_t>;
  std::map<Key, Tensor> stacked_;
  std::vector<WeightCopy> copies_;
};

// Weights [out_i, in_i] one below the other in `dtype`, with zeros behind the last row and behind
// every row: [out, in].
Tensor stacked_weights(at::TensorList weights, at::ScalarType dtype, int64_t out, int64_t in);

}  // namespace perceiver
