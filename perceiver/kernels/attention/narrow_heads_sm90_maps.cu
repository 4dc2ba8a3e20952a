#include "perceiver/kernels/attention/narrow_heads_sm90_maps.h"
#include "perceiver/kernels/cuda/tma_map.h"

namespace perceiver::narrow {

static cudaError_t make_map(const NarrowAttention& a, const HeadRows& x, int rows, int box_rows,
                            CUtensorMap* map) {
  return make_copy_map<4>({.bfloat16 = a.bfloat16,
                           .data = x.data,
                           .sizes = {a.channels, rows, a.heads, a.batch},
                           .strides = {x.row, x.head, x.batch},
                           .box = {a.channels, box_rows, 1, 1}},
                          map);
}

cudaError_t make_maps(const NarrowAttention& a, int query_rows, int key_rows, HeadMaps* maps) {
  cudaError_t error = make_map(a, a.q, a.queries, query_rows, &maps->q);
  if (error == cudaSuccess) error = make_map(a, a.k, a.keys, key_rows, &maps->k);
  return error == cudaSuccess ? make_map(a, a.v, a.keys, key_rows, &maps->v) : error;
}

}  // namespace perceiver::narrow
