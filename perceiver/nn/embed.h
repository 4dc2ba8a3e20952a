// Learned vectors by index, as elements of an array.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// table [count, C], ids [M] or [B, M] -> [..., C]: the vectors of ids, with `places` [M, C] added
// where they are given. On a GPU one kernel forward and one backward, where LibTorch sorts the ids;
// the gradients have the same bits each time.
Tensor embedded(const Tensor& table, const Tensor& ids, const Tensor& places = {});

}  // namespace perceiver
