#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/sum_parts.h"

namespace perceiver {
namespace {

constexpr int kSummed = 32;  // parts that a block of sum_parts_kernel adds at a time

__global__ void __launch_bounds__(32 * kSummed)
    sum_parts_kernel(const float* parts, int count, int64_t width, float* sums) {
  __shared__ float slots[kSummed][33];
  const int64_t column = int64_t{blockIdx.x} * 32 + threadIdx.x;
  float sum = 0;
  if (column < width) {
    for (int part = threadIdx.y; part < count; part += kSummed) {
      sum += parts[part * width + column];
    }
  }
  slots[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_sum(slots[threadIdx.x][threadIdx.y]);
  const int64_t out = int64_t{blockIdx.x} * 32 + threadIdx.y;
  if (threadIdx.x == 0 && out < width) sums[out] = sum;
}

}  // namespace

void sum_parts(const float* parts, int64_t count, int64_t width, float* sums, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((width + 31) / 32);
  sum_parts_kernel<<<blocks, dim3(32, kSummed), 0, stream>>>(parts, static_cast<int>(count), width,
                                                             sums);
}

}  // namespace perceiver
