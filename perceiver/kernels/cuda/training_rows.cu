#include <algorithm>

#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/training_rows.h"

namespace perceiver {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr int kThreads = 256;     // that a block has about
constexpr int kMaxThreads = 512;  // of a row: kMaxTrainingChannels in packs of 8
constexpr int kProcessors = 132;  // of an H200: passes that sum over rows have blocks for each
using Narrow = __nv_bfloat16;

// How a row lies in registers: thread x of blockDim.x has the packs x, x + blockDim.x, ...
template <int V_, int kItems_>
struct Held {
  static constexpr int V = V_, kItems = kItems_;
  float at[kItems][V];

  static __device__ int channel(int i) { return (i * blockDim.x + threadIdx.x) * V; }

  // Zeros behind the row's end.
  template <typename T>
  __device__ void load(const T* row, int channels) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
#pragma unroll
      for (int j = 0; j < V; ++j) at[i][j] = 0;
      if (channel(i) < channels) load_pack(row + channel(i), at[i]);
    }
  }

  template <typename T>
  __device__ void store(T* row, int channels) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (channel(i) < channels) store_pack(row + channel(i), at[i]);
    }
  }

  // f(value, i, j) for each element there is
  template <typename F>
  __device__ void each(int channels, F f) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (channel(i) >= channels) continue;
#pragma unroll
      for (int j = 0; j < V; ++j) f(at[i][j], i, j);
    }
  }
};

// A row on its way: asked for, in its own dtype, and not yet looked at.
template <typename T, typename H>
struct Ahead {
  static constexpr int kTogether = H::V * sizeof(T) > 16 ? 16 / sizeof(T) : H::V;
  Pack<T, kTogether> at[H::kItems][H::V / kTogether];

  // Zeros behind the row's end.
  __device__ void load(const T* row, int channels) {
#pragma unroll
    for (int i = 0; i < H::kItems; ++i) {
#pragma unroll
      for (int k = 0; k < H::V / kTogether; ++k) {
        if (H::channel(i) < channels) {
          at[i][k] =
              *reinterpret_cast<const Pack<T, kTogether>*>(row + H::channel(i) + k * kTogether);
        } else {
#pragma unroll
          for (int j = 0; j < kTogether; ++j) at[i][k].at[j] = from_float<T>(0.0f);
        }
      }
    }
  }

  __device__ H arrived() const {
    H held;
#pragma unroll
    for (int i = 0; i < H::kItems; ++i) {
#pragma unroll
      for (int j = 0; j < H::V; ++j) {
        held.at[i][j] = to_float(at[i][j / kTogether].at[j % kTogether]);
      }
    }
    return held;
  }
};

template <int V>
__device__ void zero_padding(Narrow* row, int64_t channels, int64_t padded) {
  const float zeros[V] = {};
  for (int64_t c = channels + int64_t{threadIdx.x} * V; c < padded; c += int64_t{blockDim.x} * V) {
    store_pack(row + c, zeros);
  }
}

// Sums over a row's threads; all rows of a block call together. `slots` are used every other time,
// so one barrier is enough.
__device__ float2 row_sums(float2 x, float2* slots) {
  float2 sum = {warp_sum(x.x), warp_sum(x.y)};
  if (blockDim.x == 32) return sum;
  const int warps = blockDim.x / 32;
  float2* mine = slots + threadIdx.y * warps;
  if (threadIdx.x % 32 == 0) mine[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = {0, 0};
  for (int warp = 0; warp < warps; ++warp) {
    sum.x += mine[warp].x;
    sum.y += mine[warp].y;
  }
  return sum;
}

template <typename T, typename H>
__global__ void __launch_bounds__(kMaxThreads) layer_norm_kernel(LayerNormPass p) {
  __shared__ float2 slots[2][kMaxThreads / 32];
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool there = row < p.rows;  // every thread meets the barriers
  const int channels = there ? static_cast<int>(p.channels) : 0;
  H z;
  z.load(static_cast<const T*>(p.x) + row * p.x_stride, channels);
  if (p.y != nullptr) {
    H y;
    y.load(static_cast<const Narrow*>(p.y) + row * p.y_stride, channels);
    // Rounded as it is stored: what is normalised is what the next layer finds.
    z.each(channels, [&](float& v, int i, int j) { v = to_float(from_float<T>(v + y.at[i][j])); });
    z.store(static_cast<T*>(p.sum) + row * p.channels, channels);
  }
  float sum = 0, squares = 0;
  z.each(channels, [&](float v, int, int) { sum += v; });
  const float mean = row_sums({sum, 0}, slots[0]).x / static_cast<float>(p.channels);
  z.each(channels, [&](float v, int, int) { squares += (v - mean) * (v - mean); });
  const float variance = row_sums({squares, 0}, slots[1]).x / static_cast<float>(p.channels);
  const float rstd = rsqrtf(variance + kEpsilon);
  if (!there) return;
  H scale, offset;
  scale.load(p.scale, channels);
  offset.load(p.offset, channels);
  z.each(channels,
         [&](float& v, int i, int j) { v = (v - mean) * rstd * scale.at[i][j] + offset.at[i][j]; });
  Narrow* out = static_cast<Narrow*>(p.out) + row * p.out_stride;
  z.store(out, channels);
  zero_padding<H::V>(out, p.channels, p.out_stride);
  if (threadIdx.x == 0) p.mean[row] = mean, p.rstd[row] = rstd;
}

// The block's sum of `held` over its rows goes to `to` [C].
template <typename H>
__device__ void store_block_sum(H& held, float* shared, float* to, int channels) {
  const int width = blockDim.x * H::V * H::kItems;
  __syncthreads();
  held.each(channels,
            [&](float v, int i, int j) { shared[threadIdx.y * width + H::channel(i) + j] = v; });
  __syncthreads();
  if (threadIdx.y != 0) return;
  held.each(channels, [&](float& v, int i, int j) {
    for (int y = 1; y < blockDim.y; ++y) v += shared[y * width + H::channel(i) + j];
    to[H::channel(i) + j] = v;
  });
}

template <typename T, typename H>
__global__ void __launch_bounds__(kMaxThreads) layer_norm_gradient_kernel(LayerNormGradient p) {
  extern __shared__ float shared[];
  __shared__ float2 slots[2][kMaxThreads / 32];
  const int channels = static_cast<int>(p.channels);
  const float share = 1.0f / static_cast<float>(channels);
  H scale, scale_sum{}, offset_sum{}, out_sum{};
  scale.load(p.scale, channels);
  // A row is asked for while the one before it is worked on.
  Ahead<Narrow, H> next_g;
  Ahead<T, H> next_z, next_passed;
  float next_mean = 0, next_rstd = 0;
  const auto ask = [&](int64_t row) {
    const int there = row < p.rows ? channels : 0;
    next_g.load(static_cast<const Narrow*>(p.gradient) + row * p.gradient_stride, there);
    next_z.load(static_cast<const T*>(p.z) + row * p.z_stride, there);
    next_passed.load(static_cast<const T*>(p.passed) + row * channels, p.passed ? there : 0);
    next_mean = there ? p.mean[row] : 0.0f, next_rstd = there ? p.rstd[row] : 0.0f;
  };
  ask(int64_t{blockIdx.x} * blockDim.y + threadIdx.y);
  int turn = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.y; first < p.rows; first += step) {
    const int64_t row = first + threadIdx.y;
    const int here = row < p.rows ? channels : 0;
    H g = next_g.arrived(), z = next_z.arrived();
    const H passed = next_passed.arrived();
    const float mean = next_mean, rstd = next_rstd;
    ask(row + step);
    float2 sums = {0, 0};
    z.each(here, [&](float& v, int i, int j) {
      v = (v - mean) * rstd;
      scale_sum.at[i][j] += g.at[i][j] * v;
      offset_sum.at[i][j] += g.at[i][j];
      g.at[i][j] *= scale.at[i][j];
      sums.x += g.at[i][j];
      sums.y += g.at[i][j] * v;
    });
    if (p.dz == nullptr) continue;
    sums = row_sums(sums, slots[turn ^= 1]);
    g.each(here, [&](float& v, int i, int j) {
      v = rstd * (v - share * (sums.x + z.at[i][j] * sums.y)) + passed.at[i][j];
      out_sum.at[i][j] += v;
    });
    if (here == 0) continue;
    g.store(static_cast<T*>(p.dz) + row * channels, channels);
    if (p.narrow == nullptr) continue;
    Narrow* narrow = static_cast<Narrow*>(p.narrow) + row * p.narrow_stride;
    g.store(narrow, channels);
    zero_padding<H::V>(narrow, p.channels, p.narrow_stride);
  }
  float* to = p.workspace + int64_t{blockIdx.x} * 3 * channels;
  store_block_sum(scale_sum, shared, to, channels);
  store_block_sum(offset_sum, shared, to + channels, channels);
  if (p.dz != nullptr) store_block_sum(out_sum, shared, to + 2 * channels, channels);
}

constexpr int kSummed = 32;  // parts that a block of sum_parts_kernel adds at a time

// parts [P, W] -> sums [W], in a fixed order
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

void sum_parts(const float* parts, int64_t count, int64_t width, float* sums, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((width + 31) / 32);
  sum_parts_kernel<<<blocks, dim3(32, kSummed), 0, stream>>>(parts, static_cast<int>(count), width,
                                                             sums);
}

struct RowThreads {
  unsigned row;   // threads that share a row
  unsigned rows;  // rows of a block at a time
};
RowThreads row_threads(int64_t channels, int V, int items) {
  const int64_t packs = (channels + int64_t{V} * items - 1) / (V * items);
  const auto row = static_cast<unsigned>((packs + 31) / 32 * 32);
  return {row, std::max(1u, kThreads / row)};
}

// As many as fit beside one another, with about a hundred registers a thread.
constexpr int kGradientThreads = 600, kMostGradientBlocks = 4 * kProcessors;
int64_t gradient_blocks(int64_t rows, const RowThreads& t) {
  const int64_t together = std::max<int64_t>(1, kGradientThreads / (t.row * t.rows));
  return std::clamp<int64_t>((rows + t.rows - 1) / t.rows, 1, together * kProcessors);
}

template <typename T, typename H>
void launch(const LayerNormPass& p, cudaStream_t stream) {
  const RowThreads t = row_threads(p.channels, H::V, H::kItems);
  const auto blocks = static_cast<unsigned>((p.rows + t.rows - 1) / t.rows);
  layer_norm_kernel<T, H><<<blocks, dim3(t.row, t.rows), 0, stream>>>(p);
}

template <typename T, typename H>
void launch(const LayerNormGradient& p, cudaStream_t stream) {
  const RowThreads t = row_threads(p.channels, H::V, H::kItems);
  const int64_t blocks = gradient_blocks(p.rows, t);
  const size_t shared = sizeof(float) * t.row * t.rows * H::V * H::kItems;
  layer_norm_gradient_kernel<T, H>
      <<<static_cast<unsigned>(blocks), dim3(t.row, t.rows), shared, stream>>>(p);
  sum_parts(p.workspace, blocks, 3 * p.channels, p.sums, stream);
}

// Calls f with the packs that all strides and pointers allow.
template <typename F>
void with_layout(int64_t strides, uintptr_t pointers, F f) {
  if (strides % 8 == 0 && pointers % 16 == 0) return f(Held<8, 1>{});
  if (strides % 2 == 0 && pointers % 8 == 0) return f(Held<2, 4>{});
  f(Held<1, 8>{});
}

uintptr_t bits(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool can_be(int64_t channels, CudaDtype dtype) {
  return channels >= 1 && channels <= kMaxTrainingChannels && dtype != CudaDtype::kFloat16;
}

// Threads (32, 8): x along the packs of a row, y along the rows.
constexpr int kColumnRows = 8, kMostColumnBlocks = 8 * kProcessors;

template <ColumnOperation kOperation>
__device__ float derivative(float x) {
  if constexpr (kOperation == ColumnOperation::kGeluErf) {
    constexpr float kRootHalf = 0.70710678f, kRootOfTwoPi = 0.39894228f;
    return 0.5f * (1.0f + erff(x * kRootHalf)) + x * kRootOfTwoPi * expf(-0.5f * x * x);
  }
  constexpr float kRoot = 0.79788456f, kCubic = 0.044715f;
  const float t = tanhf(kRoot * (x + kCubic * x * x * x));
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
  sum_parts(p.workspace, down, p.channels, p.sums, stream);
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
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] += y[j];
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

template <typename F>
void with_wide_dtype(CudaDtype dtype, F f) {
  if (dtype == CudaDtype::kFloat32) return f(static_cast<float*>(nullptr));
  f(static_cast<Narrow*>(nullptr));
}

}  // namespace

cudaError_t layer_norm(const LayerNormPass& p, cudaStream_t stream) {
  if (!can_be(p.channels, p.dtype) || p.out_stride < p.channels) return cudaErrorInvalidValue;
  if (p.rows == 0) return cudaSuccess;
  with_wide_dtype(p.dtype, [&]<typename T>(T*) {
    with_layout(p.channels | p.x_stride | p.y_stride | p.out_stride,
                bits(p.x) | bits(p.y) | bits(p.sum) | bits(p.scale) | bits(p.offset) | bits(p.out),
                [&]<typename H>(H) { launch<T, H>(p, stream); });
  });
  return cudaGetLastError();
}

int64_t layer_norm_gradient_workspace(int64_t channels) {
  return int64_t{kMostGradientBlocks} * 3 * channels;
}

cudaError_t layer_norm_gradient(const LayerNormGradient& p, cudaStream_t stream) {
  if (!can_be(p.channels, p.dtype) || (p.narrow && p.narrow_stride < p.channels)) {
    return cudaErrorInvalidValue;
  }
  with_wide_dtype(p.dtype, [&]<typename T>(T*) {
    with_layout(
        p.channels | p.z_stride | p.gradient_stride | p.narrow_stride,
        bits(p.gradient) | bits(p.z) | bits(p.scale) | bits(p.passed) | bits(p.dz) | bits(p.narrow),
        [&]<typename H>(H) { launch<T, H>(p, stream); });
  });
  return cudaGetLastError();
}

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
    const uintptr_t pointers = bits(p.x) | bits(p.y) | bits(p.out);
    if (strides % 8 == 0 && pointers % 16 == 0) return launch_add<8, T>(p, stream);
    if (strides % 2 == 0 && pointers % 8 == 0) return launch_add<2, T>(p, stream);
    launch_add<1, T>(p, stream);
  });
  return cudaGetLastError();
}

}  // namespace perceiver
