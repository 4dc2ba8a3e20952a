#include <cudaTypedefs.h>

#include "perceiver/kernels/cuda/tma_map.h"

namespace perceiver {
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

CUtensorMapSwizzle swizzle_of(int row_elements) {
  switch (row_elements) {
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 16:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

}  // namespace

template <int kDimensions>
cudaError_t make_copy_map(const MappedArray<kDimensions>& a, CUtensorMap* map) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
  if (encode == nullptr) return cudaErrorNotSupported;
  cuuint64_t sizes[kDimensions], strides[kDimensions - 1];
  cuuint32_t box[kDimensions], steps[kDimensions];
  for (int i = 0; i < kDimensions; ++i) {
    sizes[i] = static_cast<cuuint64_t>(a.sizes[i]);
    box[i] = static_cast<cuuint32_t>(a.box[i]);
    steps[i] = 1;
    // Of one element the stride is never used, but it must be a valid one.
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(sizes[i] > 1 ? 2 * a.strides[i - 1] : 16);
  }
  const CUresult result =
      encode(map, a.bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
             kDimensions, const_cast<void*>(a.data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(a.box[0]),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

template cudaError_t make_copy_map(const MappedArray<3>&, CUtensorMap*);
template cudaError_t make_copy_map(const MappedArray<4>&, CUtensorMap*);

}  // namespace perceiver
