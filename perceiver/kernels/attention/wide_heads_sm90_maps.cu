#include "perceiver/kernels/attention/wide_heads_sm90_maps.h"
#include "perceiver/kernels/cuda/tma_map.h"

namespace perceiver::hopper {
namespace {

// An array [B, rows, channels] and the rows of the boxes it is read in.
struct Rows {
  const void* data;
  int64_t channels, rows, row_stride, batch_stride;
  int box_rows;
};

cudaError_t make_both(const HopperAttention& a, const Rows& x, ColumnMaps* maps) {
  const auto make = [&](int box_channels, CUtensorMap* map) {
    return make_copy_map<3>({.bfloat16 = a.bfloat16,
                             .data = x.data,
                             .sizes = {x.channels, x.rows, a.batch},
                             .strides = {x.row_stride, x.batch_stride},
                             .box = {box_channels, x.box_rows, 1}},
                            map);
  };
  const cudaError_t error = make(64, &maps->wide);
  return error == cudaSuccess ? make(16, &maps->narrow) : error;
}

}  // namespace

cudaError_t make_maps(const HopperAttention& a, int query_rows, int key_rows, AttentionMaps* maps) {
  const int64_t qk = a.qk_channels;
  cudaError_t error = make_both(a, {a.q, qk, a.queries, a.q_row, a.q_batch, query_rows}, &maps->q);
  if (error != cudaSuccess) return error;
  error = make_both(a, {a.k, qk, a.keys, a.k_row, a.k_batch, key_rows}, &maps->k);
  if (error != cudaSuccess) return error;
  return make_both(a, {a.v, a.v_channels, a.keys, a.v_row, a.v_batch, key_rows}, &maps->v);
}

}  // namespace perceiver::hopper
