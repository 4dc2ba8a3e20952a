#include <cudaTypedefs.h>

#include "perceiver/kernels/cuda/attention_hopper_maps.h"

namespace perceiver::hopper {
namespace {

// The driver's function, found through the runtime so that nothing links with the driver.
PFN_cuTensorMapEncodeTiled_v12000 find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

// An array [B, rows, F] and the rows of the boxes it is read in.
struct MappedArray {
  const void* data;
  int64_t rows, row_stride, batch_stride;
  int box_rows;
};

cudaError_t make_map(const HopperAttention& a, const MappedArray& array, bool wide,
                     CUtensorMap* map) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
  if (encode == nullptr) return cudaErrorNotSupported;
  // With a batch of one its stride is never used, but it must be a valid one.
  const int64_t batch_stride = a.batch > 1 ? array.batch_stride : array.rows * array.row_stride;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(a.channels),
                              static_cast<cuuint64_t>(array.rows),
                              static_cast<cuuint64_t>(a.batch)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(2 * array.row_stride),
                                static_cast<cuuint64_t>(2 * batch_stride)};
  const cuuint32_t box[] = {wide ? 64u : 16u, static_cast<cuuint32_t>(array.box_rows), 1u};
  const cuuint32_t steps[] = {1u, 1u, 1u};
  const CUresult result = encode(
      map, a.bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3,
      const_cast<void*>(array.data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      wide ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_32B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t make_both(const HopperAttention& a, const MappedArray& array, ColumnMaps* maps) {
  const cudaError_t error = make_map(a, array, true, &maps->wide);
  return error == cudaSuccess ? make_map(a, array, false, &maps->narrow) : error;
}

}  // namespace

cudaError_t make_maps(const HopperAttention& a, int query_rows, int key_rows, AttentionMaps* maps) {
  cudaError_t error = make_both(a, {a.q, a.queries, a.q_row, a.q_batch, query_rows}, &maps->q);
  if (error != cudaSuccess) return error;
  error = make_both(a, {a.k, a.keys, a.k_row, a.k_batch, key_rows}, &maps->k);
  if (error != cudaSuccess) return error;
  return make_both(a, {a.v, a.keys, a.v_row, a.v_batch, key_rows}, &maps->v);
}

}  // namespace perceiver::hopper
