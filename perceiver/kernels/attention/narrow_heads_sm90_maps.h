// The maps by which the copy engine reads the arrays of attention_narrow.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "perceiver/kernels/attention/narrow_heads_sm90.h"

namespace perceiver::narrow {

// Boxes are rows of one head, with all channels: `query_rows` of q, `key_rows` of k and v.
struct HeadMaps {
  CUtensorMap q, k, v;
};
cudaError_t make_maps(const NarrowAttention& a, int query_rows, int key_rows, HeadMaps* maps);

}  // namespace perceiver::narrow
