#include <algorithm>

#include "perceiver/kernels/cuda/sum_parts.h"
#include "perceiver/kernels/norm/held_row.h"
#include "perceiver/kernels/norm/training_kernels.h"

namespace perceiver {
namespace {

constexpr int kThreads = 256;
constexpr int kProcessors = 132;  // of an H200: passes that sum over rows have blocks for each

// Threads (32, 8): x along the packs of a row, y along the rows.
constexpr int kColumnRows = 8, kMostColumnBlocks = 8 * kProcessors;

template <ColumnOperation kOperation>
__device__ float derivative(float x) {
  if constexpr (kOperation == ColumnOperation::kGeluErf) {
    constexpr float kRootHalf = 0.70710678f, kRootOfTwoPi = 0.39894228f;
    return 0.5f * (1.0f + erff(x * kRootHalf)) + x * kRootOfTwoPi * expf(-0.5f * x * x);
  }
  constexpr float kRoot = 0.79788456f, kCubic = 0.044715f;
  // tanh, from its exponential: to 1e-6, and a third of tanhf's instructions.
  const float t = 1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * kRoot * (x + kCubic * x * x * x)));
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * kRoot * (1.0f + 3.0f * kCubic * x * x);
}

template <int V, ColumnOperation kOperation, typename T>
__global__ void __launch_bounds__(32 * kColumnRows) columns_kernel(ColumnPass p) {
  __shared__ float slots[kColumnRows][32 * V];
  const int64_t column = (int64_t{blockIdx.x} * 32 + threadIdx.x) * V;
  float sum[V] = {};
  for (int64_t row = int64_t{blockIdx.y} * kColumnRows + threadIdx.y; row < p.rows;
       row += int64_t{gridDim.y} * kColumnRows) {
    if (column >= p.padded) break;
    float x[V] = {};
    if (column < p.channels) load_pack(static_cast<const T*>(p.x) + row * p.x_stride + column, x);
    if (kOperation != ColumnOperation::kCopy && column < p.channels) {
      float at[V];
      load_pack(static_cast<const Narrow*>(p.at) + row * p.at_stride + column, at);
#pragma unroll
      for (int j = 0; j < V; ++j) x[j] *= derivative<kOperation>(at[j]);
    }
#pragma unroll
    for (int j = 0; j < V; ++j) sum[j] += x[j];
    if (kOperation == ColumnOperation::kCopy && p.out == p.x) continue;
    store_pack(static_cast<Narrow*>(p.out) + row * p.out_stride + column, x);
  }
#pragma unroll
  for (int j = 0; j < V; ++j) slots[threadIdx.y][threadIdx.x * V + j] = sum[j];
  __syncthreads();
  for (int c = threadIdx.y * 32 + threadIdx.x; c < 32 * V; c += 32 * kColumnRows) {
    const int64_t at = int64_t{blockIdx.x} * 32 * V + c;
    if (at >= p.channels) continue;
    float all = 0;
#pragma unroll
    for (int y = 0; y < kColumnRows; ++y) all += slots[y][c];
    p.workspace[blockIdx.y * p.channels + at] = all;
  }
}

// Enough blocks to fill a GPU, whatever part of a row each has.
int64_t column_blocks(int64_t rows, int64_t packs) {
  const int64_t across = (packs + 31) / 32;
  return std::clamp<int64_t>((rows + kColumnRows - 1) / kColumnRows, 1,
                             std::max<int64_t>(1, kMostColumnBlocks / across));
}

template <int V, typename T>
void launch_columns(const ColumnPass& p, cudaStream_t stream) {
  const int64_t packs = (p.padded + V - 1) / V, down = column_blocks(p.rows, packs);
  const dim3 blocks(static_cast<unsigned>((packs + 31) / 32), static_cast<unsigned>(down));
  const dim3 threads(32, kColumnRows);
  switch (p.operation) {
    case ColumnOperation::kCopy:
      columns_kernel<V, ColumnOperation::kCopy, T><<<blocks, threads, 0, stream>>>(p);
      break;
    case ColumnOperation::kGeluTanh:
      columns_kernel<V, ColumnOperation::kGeluTanh, T><<<blocks, threads, 0, stream>>>(p);
      break;
    case ColumnOperation::kGeluErf:
      columns_kernel<V, ColumnOperation::kGeluErf, T><<<blocks, threads, 0, stream>>>(p);
      break;
  }
  const PartSums sums{p.workspace, down, p.channels, p.sums};
  if (p.left != nullptr) {
    *p.left = sums;
  } else {
    sum_parts(sums, stream);
  }
}

template <int V, typename T>
__global__ void __launch_bounds__(kThreads) add_kernel(AddedPass p) {
  const int64_t packs = p.channels / V;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < p.rows * packs;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t row = i / packs, channel = i % packs * V;
    float x[V], y[V];
    load_pack(static_cast<const T*>(p.x) + row * p.x_stride + channel, x);
    load_pack(static_cast<const Narrow*>(p.y) + row * p.y_stride + channel, y);
    float bias[V] = {};
    if (p.bias != nullptr) load_pack(p.bias + channel, bias);
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] += y[j] + bias[j];
    store_pack(static_cast<T*>(p.out) + row * p.channels + channel, x);
  }
}

template <int V, typename T>
void launch_add(const AddedPass& p, cudaStream_t stream) {
  constexpr int64_t kMostBlocks = 1 << 20;
  const int64_t blocks = (p.rows * (p.channels / V) + kThreads - 1) / kThreads;
  add_kernel<V, T>
      <<<static_cast<unsigned>(std::min(blocks, kMostBlocks)), kThreads, 0, stream>>>(p);
}

}  // namespace

int64_t column_workspace(int64_t channels) { return int64_t{kMostColumnBlocks} * channels; }

cudaError_t columns(const ColumnPass& p, cudaStream_t stream) {
  if (p.channels < 1 || p.padded < p.channels || p.out_stride < p.padded ||
      p.dtype == CudaDtype::kFloat16) {
    return cudaErrorInvalidValue;
  }
  with_wide_dtype(p.dtype, [&]<typename T>(T*) {
    const int64_t strides = p.channels | p.x_stride | p.at_stride | p.out_stride | p.padded;
    const uintptr_t pointers = bits(p.x) | bits(p.at) | bits(p.out);
    if (strides % 8 == 0 && pointers % 16 == 0) return launch_columns<8, T>(p, stream);
    if (strides % 2 == 0 && pointers % 8 == 0) return launch_columns<2, T>(p, stream);
    launch_columns<1, T>(p, stream);
  });
  return cudaGetLastError();
}

cudaError_t add_rows(const AddedPass& p, cudaStream_t stream) {
  if (p.channels < 1 || p.dtype == CudaDtype::kFloat16) return cudaErrorInvalidValue;
  if (p.rows == 0) return cudaSuccess;
  with_wide_dtype(p.dtype, [&]<typename T>(T*) {
    const int64_t strides = p.channels | p.x_stride | p.y_stride;
    const uintptr_t pointers = bits(p.x) | bits(p.y) | bits(p.bias) | bits(p.out);
    if (strides % 8 == 0 && pointers % 16 == 0) return launch_add<8, T>(p, stream);
    if (strides % 2 == 0 && pointers % 8 == 0) return launch_add<2, T>(p, stream);
    launch_add<1, T>(p, stream);
  });
  return cudaGetLastError();
}

}  // namespace perceiver
