// Rows that are looked up where they would be multiplied: what a linear layer makes of the
// normalised sum of two learned vectors, one by id and one by place (tabulate() of nn/fold.h).
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

struct RowTables {
  Tensor of_ids, of_places;  // [V, K], [M, K]
  Tensor scales;             // [V, M], float32
  Tensor bias;               // [K], float32
};

// ids [B, m], m at most M -> [B, m, K] of `dtype`: row m of an example is
//   scales[id, m] (of_ids[id] + of_places[m]) + bias.
// By kernels of our own on a CPU and, where they are built, on a GPU; nothing waits for it.
Tensor looked_up(const RowTables& tables, const Tensor& ids, at::ScalarType dtype);

}  // namespace perceiver
