// A linear layer over rows together with what comes before and after it: by kernels that do all of
// it on a GPU, by LibTorch's operations otherwise.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

struct Product {
  Tensor x;              // [..., K]
  Tensor weight, bias;   // [N, K], [N]
  Tensor residual = {};  // [..., N], added to the result; undefined: nothing is
  bool gelu = false;     // the tanh form, of the result
};

// x weight^T + bias, then the residual or GELU -> [..., N]
Tensor multiplied(const Product& product);

// Rows [..., K], and what their LayerNorm needs to know where a product has left that: the moments
// of each row's parts of `part` channels.
struct MeasuredRows {
  Tensor rows;
  Tensor moments = {};  // [rows, parts, 2], float32
  int64_t part = 0;
};

// multiplied(), which leaves the moments of the result's first `channels` where it can. Channels
// behind them must come out as zeros.
MeasuredRows multiplied_and_measured(const Product& product, int64_t channels);

// A linear layer behind LayerNorm, whose scale and offset are folded into it.
struct NormedLayer {
  Tensor weight, bias;  // [N, K], [N]; weights of padding are zeros
  Tensor column_sums;   // [N], float32: of weight's rows
  int64_t channels;     // of K, that are not padding
};

// LayerNorm(x) weight^T + bias, then GELU in its tanh form where asked for -> [..., N]
Tensor multiplied_normed(const MeasuredRows& x, const NormedLayer& layer, bool gelu);

}  // namespace perceiver
