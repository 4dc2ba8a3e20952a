// The maps by which the copy engine reads the arrays of attention_hopper, column by column.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "perceiver/kernels/attention/wide_heads_sm90.h"

namespace perceiver::hopper {

// Two maps of one array: boxes of 64 channels and boxes of 16, each with its swizzle.
struct ColumnMaps {
  CUtensorMap wide, narrow;
};

// Boxes have `query_rows` rows for q, `key_rows` for k and v.
struct AttentionMaps {
  ColumnMaps q, k, v;
};
cudaError_t make_maps(const HopperAttention& a, int query_rows, int key_rows, AttentionMaps* maps);

}  // namespace perceiver::hopper
