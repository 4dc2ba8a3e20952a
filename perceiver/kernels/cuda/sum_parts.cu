#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/sum_parts.h"

namespace perceiver {
namespace {

constexpr int kSummed = 32;  // parts that a block of sum_parts_kernel adds at a time

unsigned blocks_of(int64_t width, int64_t columns) {
  return static_cast<unsigned>((width + columns - 1) / columns);
}

__global__ void __launch_bounds__(32 * kSummed)
    sum_parts_kernel(PartSums first, unsigned blocks_of_first, PartSums second) {
  __shared__ float slots[kSummed][33];
  const bool is_first = blockIdx.x < blocks_of_first;
  const PartSums p = is_first ? first : second;
  const int64_t begin = int64_t{32} * (is_first ? blockIdx.x : blockIdx.x - blocks_of_first);
  const int64_t column = begin + threadIdx.x;
  float sum = 0;
  if (column < p.width) {
    const float* from = p.parts + column;
    const int count = static_cast<int>(p.count), width = static_cast<int>(p.width);
#pragma unroll 4
    for (int part = threadIdx.y; part < count; part += kSummed) sum += from[part * width];
  }
  slots[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = warp_sum(slots[threadIdx.x][threadIdx.y]);
  const int64_t out = begin + threadIdx.y;
  if (threadIdx.x == 0 && out < p.width) p.sums[out] = sum;
}

// Columns enough for a thread each.
constexpr int64_t kManyColumns = 1 << 16;
constexpr int kColumns = 256;

__global__ void __launch_bounds__(kColumns) sum_columns_kernel(PartSums p) {
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (column >= p.width) return;
  float sum = 0;
#pragma unroll 8
  for (int64_t part = 0; part < p.count; ++part) sum += p.parts[part * p.width + column];
  p.sums[column] = sum;
}

}  // namespace

void sum_parts(const PartSums& sums, cudaStream_t stream, const PartSums& also) {
  if (sums.width >= kManyColumns && also.width == 0) {
    sum_columns_kernel<<<blocks_of(sums.width, kColumns), kColumns, 0, stream>>>(sums);
    return;
  }
  const unsigned first = blocks_of(sums.width, 32), second = blocks_of(also.width, 32);
  sum_parts_kernel<<<first + second, dim3(32, kSummed), 0, stream>>>(sums, first, also);
}

}  // namespace perceiver
