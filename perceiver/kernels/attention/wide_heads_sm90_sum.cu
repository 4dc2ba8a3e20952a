#include <cmath>
#include <numbers>

#include "perceiver/kernels/attention/wide_heads_sm90_softmax.h"
#include "perceiver/kernels/attention/wide_heads_sm90_sum.h"

namespace perceiver::hopper {
namespace {

constexpr int kWarpsOfSum = 4;
constexpr int kChannelsOfWarp = 128;  // four a lane

struct SplitSum {
  const float* sums;     // [splits, B N, channels]
  const float2* totals;  // [splits, B N]
  void* out;
  float* log_sum_exp;
  int64_t rows, out_row, out_batch;
  int queries, channels, pieces, splits;  // pieces of kChannelsOfWarp in a row
  float scale_log2;
};

// A warp takes a piece of a row, a lane the weight of one split.
template <class T>
__global__ void __launch_bounds__(32 * kWarpsOfSum) sum_kernel(const SplitSum sum) {
  const int lane = threadIdx.x % 32;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarpsOfSum + threadIdx.x / 32;
  const int64_t row = index / sum.pieces;
  const int piece = static_cast<int>(index % sum.pieces);
  if (row >= sum.rows) return;

  float2 own = make_float2(-INFINITY, 0.0f);
  if (lane < sum.splits) own = sum.totals[lane * sum.rows + row];
  float top = own.x;
  for (int i = 16; i > 0; i /= 2) top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, i));
  const float base = top == -INFINITY ? 0.0f : top * sum.scale_log2;
  float weight = exp2f(own.x * sum.scale_log2 - base);
  float total = own.y * weight;
  for (int i = 16; i > 0; i /= 2) total += __shfl_xor_sync(kAllLanes, total, i);
  weight = total > 0.0f ? weight / total : 0.0f;
  if (piece == 0 && lane == 0 && sum.log_sum_exp != nullptr) {
    sum.log_sum_exp[row] = log_sum_exp(top, total, sum.scale_log2);
  }

  const int channel = kChannelsOfWarp * piece + 4 * lane;
  const bool inside = channel < sum.channels;
  const float* from = sum.sums + row * sum.channels + (inside ? channel : 0);
  float4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
  for (int split = 0; split < sum.splits; ++split) {
    const float factor = __shfl_sync(kAllLanes, weight, split);
    const float4 part = *reinterpret_cast<const float4*>(from + split * sum.rows * sum.channels);
    value.x += factor * part.x;
    value.y += factor * part.y;
    value.z += factor * part.z;
    value.w += factor * part.w;
  }
  if (!inside) return;
  T* out = static_cast<T*>(sum.out) + row / sum.queries * sum.out_batch +
           row % sum.queries * sum.out_row + channel;
  *reinterpret_cast<uint2*>(out) =
      make_uint2(pack(T{}, value.x, value.y), pack(T{}, value.z, value.w));
}

}  // namespace

cudaError_t sum_splits(const HopperAttention& a, const SplitPlan& plan, cudaStream_t stream) {
  SplitSum sum{};
  sum.sums = static_cast<const float*>(a.workspace);
  sum.totals = reinterpret_cast<const float2*>(sum.sums + plan.sums(a));
  sum.out = a.out;
  sum.log_sum_exp = a.log_sum_exp;
  sum.rows = a.batch * a.queries;
  sum.out_row = a.out_row;
  sum.out_batch = a.out_batch;
  sum.queries = static_cast<int>(a.queries);
  sum.channels = stored_channels(a);
  sum.pieces = (sum.channels + kChannelsOfWarp - 1) / kChannelsOfWarp;
  sum.splits = plan.splits;
  sum.scale_log2 = a.scale * std::numbers::log2e_v<float>;
  const int64_t warps = sum.rows * sum.pieces;
  const auto blocks = static_cast<unsigned>((warps + kWarpsOfSum - 1) / kWarpsOfSum);
  if (a.bfloat16) {
    sum_kernel<__nv_bfloat16><<<blocks, 32 * kWarpsOfSum, 0, stream>>>(sum);
  } else {
    sum_kernel<__half><<<blocks, 32 * kWarpsOfSum, 0, stream>>>(sum);
  }
  return cudaGetLastError();
}

}  // namespace perceiver::hopper
