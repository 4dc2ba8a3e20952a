#include <cudaTypedefs.h>

#include "perceiver/kernels/cuda/attention_hopper.h"
#include "perceiver/kernels/cuda/attention_hopper_launch.h"

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

bool keys_are_values(const HopperAttention& a) {
  return a.k == a.v && a.k_row == a.v_row && (a.batch == 1 || a.k_batch == a.v_batch);
}

// Calls `f` with the tiles that fit the case.
template <class T, bool kShared, class F>
auto with_tiles_of(const HopperAttention& a, const F& f) {
  if (a.channels <= 264) return f.template operator()<HopperTile264<T, kShared>>();
  return f.template operator()<HopperTile328<T, kShared>>();
}

template <class F>
auto with_tiles(const HopperAttention& a, const F& f) {
  const bool shared = keys_are_values(a);
  if (a.bfloat16) {
    return shared ? with_tiles_of<__nv_bfloat16, true>(a, f)
                  : with_tiles_of<__nv_bfloat16, false>(a, f);
  }
  return shared ? with_tiles_of<__half, true>(a, f) : with_tiles_of<__half, false>(a, f);
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

HopperPlan plan_of(const HopperAttention& a) {
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  return with_tiles(a, [&]<class Tile>() { return hopper_plan<Tile>(a, multiprocessors); });
}

bool rows_are_aligned(const void* data, int64_t row, int64_t batch) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && row % 8 == 0 && batch % 8 == 0;
}

}  // namespace

cudaError_t make_hopper_map(CUtensorMap* map, const HopperAttention& a, const HopperArray& array,
                            int box_rows, bool wide) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
  if (encode == nullptr) return cudaErrorNotSupported;
  // With a batch of one its stride is never used, but it must be a valid one.
  const int64_t batch_stride = a.batch > 1 ? array.batch_stride : array.rows * array.row_stride;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(a.channels),
                              static_cast<cuuint64_t>(array.rows),
                              static_cast<cuuint64_t>(a.batch)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(2 * array.row_stride),
                                static_cast<cuuint64_t>(2 * batch_stride)};
  const cuuint32_t box[] = {wide ? 64u : 16u, static_cast<cuuint32_t>(box_rows), 1u};
  const cuuint32_t steps[] = {1u, 1u, 1u};
  const CUresult result = encode(
      map, a.bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3,
      const_cast<void*>(array.data), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      wide ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_32B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

const char* attention_hopper_refusal(const HopperAttention& a) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (attribute(cudaDevAttrComputeCapabilityMajor) != 9 ||
      attribute(cudaDevAttrComputeCapabilityMinor) != 0) {
    return "needs a GPU of compute capability 9.0";
  }
  if (a.channels < 1 || a.channels > 328) return "takes heads of at most 328 channels";
  if (a.batch < 1 || a.queries < 1 || a.keys < 1) return "needs a query and a key";
  if (a.queries > kMost || a.keys > kMost || a.batch > 65535) return "has 32-bit indices";
  if (!(a.scale > 0.0f)) return "needs a positive scale";
  if (!rows_are_aligned(a.q, a.q_row, a.q_batch) || !rows_are_aligned(a.k, a.k_row, a.k_batch) ||
      !rows_are_aligned(a.v, a.v_row, a.v_batch) ||
      !rows_are_aligned(a.out, a.out_row, a.out_batch)) {
    return "needs rows that start at multiples of 16 bytes";
  }
  if (a.out_row < padded_channels(a)) return "needs rows of the output padded to eight channels";
  return nullptr;
}

size_t attention_hopper_workspace(const HopperAttention& a) {
  return sizeof(float) * plan_of(a).floats(a);
}

cudaError_t attention_hopper(const HopperAttention& a, cudaStream_t stream) {
  const int multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  return with_tiles(a, [&]<class Tile>() {
    return run_hopper<Tile>(a, hopper_plan<Tile>(a, multiprocessors), multiprocessors, stream);
  });
}

}  // namespace perceiver
