#include <cudaTypedefs.h>

#include "perceiver/kernels/cuda/attention_narrow_maps.h"

namespace perceiver::narrow {
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

cudaError_t make_map(const NarrowAttention& a, const HeadRows& x, int rows, int box_rows,
                     CUtensorMap* map) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
  if (encode == nullptr) return cudaErrorNotSupported;
  // Of a dimension of one element the stride is never used, but it must be a valid one.
  const auto bytes = [](int64_t stride, int size) {
    return static_cast<cuuint64_t>(size > 1 ? 2 * stride : 16);
  };
  const auto size = [](int count) { return static_cast<cuuint64_t>(count); };
  const cuuint64_t sizes[] = {size(a.channels), size(rows), size(a.heads), size(a.batch)};
  const cuuint64_t strides[] = {bytes(x.row, rows), bytes(x.head, a.heads),
                                bytes(x.batch, a.batch)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(a.channels), static_cast<cuuint32_t>(box_rows),
                            1u, 1u};
  const cuuint32_t steps[] = {1u, 1u, 1u, 1u};
  const CUresult result = encode(
      map, a.bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
      const_cast<void*>(x.data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      a.channels == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t make_maps(const NarrowAttention& a, int query_rows, int key_rows, HeadMaps* maps) {
  cudaError_t error = make_map(a, a.q, a.queries, query_rows, &maps->q);
  if (error == cudaSuccess) error = make_map(a, a.k, a.keys, key_rows, &maps->k);
  return error == cudaSuccess ? make_map(a, a.v, a.keys, key_rows, &maps->v) : error;
}

}  // namespace perceiver::narrow
