#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <tuple>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Weights as the products of a training pass take them, narrow and stacked. A pass makes all that
// earlier passes asked for at its beginning, in a few kernels instead of one for each.
class NarrowWeights {
 public:
  // While it lives, stacked_weights() on this thread come from here, as they were at its beginning.
  class Scope {
   public:
    explicit Scope(NarrowWeights& weights);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    NarrowWeights* before_;
  };

 private:
  friend Tensor stacked_weights(at::TensorList weights, at::ScalarType dtype, int64_t out,
                                int64_t in);
  struct Copies {
    std::vector<Tensor> to, from;
  };

  void refresh();
  Tensor stacked(at::TensorList weights, at::ScalarType dtype, int64_t out, int64_t in);

  using Key = std::tuple<const void*, size_t, at::ScalarType, int64_t, int64_t>;
  std::map<Key, Tensor> stacked_;
  Copies alike_, others_;  // from the same strides, which is faster, and from others
};

// Weights [out_i, in_i] one below the other in `dtype`, with zeros behind the last row and behind
// every row: [out, in].
Tensor stacked_weights(at::TensorList weights, at::ScalarType dtype, int64_t out, int64_t in);

}  // namespace perceiver
