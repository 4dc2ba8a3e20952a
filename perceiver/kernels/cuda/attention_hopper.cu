#include <cudaTypedefs.h>

#include "perceiver/kernels/cuda/attention_hopper.h"
#include "perceiver/kernels/cuda/attention_hopper_launch.h"

namespace perceiver {
namespace {

constexpr int kWarpsOfSum = 8;

// The driver's function, found through the runtime so that nothing links with the driver.
PFN_cuTensorMapEncodeTiled_v12000 find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

struct Sum {
  const float* sums;     // [splits, B N, F]
  const float2* totals;  // [splits, B N]
  void* out;
  float* log_sum_exp;
  int64_t rows, out_row, out_batch;
  int queries, channels, splits;
  float scale_log2;
};

template <class T>
__global__ void __launch_bounds__(32 * kWarpsOfSum) sum_kernel(const Sum sum) {
  using namespace attention_hopper_parts;  // NOLINT
  const int lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarpsOfSum + threadIdx.x / 32;
  if (row >= sum.rows) return;

  // A lane for each split: the weight its sums get.
  float2 own = make_float2(-INFINITY, 0.0f);
  if (lane < sum.splits) own = sum.totals[lane * sum.rows + row];
  float top = own.x;
  for (int i = 16; i > 0; i /= 2) top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, i));
  const float base = top == -INFINITY ? 0.0f : top * sum.scale_log2;
  float weight = exp2f(own.x * sum.scale_log2 - base);
  float total = own.y * weight;
  for (int i = 16; i > 0; i /= 2) total += __shfl_xor_sync(kAllLanes, total, i);
  weight = total > 0.0f ? weight / total : 0.0f;

  const int64_t batch = row / sum.queries, query = row % sum.queries;
  T* out = static_cast<T*>(sum.out) + batch * sum.out_batch + query * sum.out_row;
  if (lane == 0 && sum.log_sum_exp != nullptr) {
    sum.log_sum_exp[row] = log_sum_exp(top, total, sum.scale_log2);
  }
  for (int first = 0; first < sum.channels; first += 128) {  // all lanes, for the shuffles
    const int channel = first + 4 * lane;
    float4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int split = 0; split < sum.splits; ++split) {
      const float factor = __shfl_sync(kAllLanes, weight, split);
      if (channel >= sum.channels) continue;
      const float4 part = *reinterpret_cast<const float4*>(
          sum.sums + (split * sum.rows + row) * sum.channels + channel);
      value.x += factor * part.x;
      value.y += factor * part.y;
      value.z += factor * part.z;
      value.w += factor * part.w;
    }
    if (channel >= sum.channels) continue;
    *reinterpret_cast<uint2*>(out + channel) =
        make_uint2(pack(T{}, value.x, value.y), pack(T{}, value.z, value.w));
  }
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

cudaError_t sum_hopper_splits(const HopperAttention& a, const HopperPlan& plan,
                              cudaStream_t stream) {
  Sum sum{};
  sum.sums = static_cast<const float*>(a.workspace);
  sum.totals = reinterpret_cast<const float2*>(sum.sums + plan.sums(a));
  sum.out = a.out;
  sum.log_sum_exp = a.log_sum_exp;
  sum.rows = a.batch * a.queries;
  sum.out_row = a.out_row;
  sum.out_batch = a.out_batch;
  sum.queries = static_cast<int>(a.queries);
  sum.channels = static_cast<int>(a.channels);
  sum.splits = plan.splits;
  sum.scale_log2 = a.scale * 1.4426950408889634f;
  const auto blocks = static_cast<unsigned>((sum.rows + kWarpsOfSum - 1) / kWarpsOfSum);
  if (a.bfloat16) {
    sum_kernel<__nv_bfloat16><<<blocks, 32 * kWarpsOfSum, 0, stream>>>(sum);
  } else {
    sum_kernel<__half><<<blocks, 32 * kWarpsOfSum, 0, stream>>>(sum);
  }
  return cudaGetLastError();
}

}  // namespace perceiver
