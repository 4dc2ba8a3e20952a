#include <algorithm>

#include "perceiver/kernels/cuda/sum_parts.h"
#include "perceiver/kernels/norm/epsilon.h"
#include "perceiver/kernels/norm/held_row.h"
#include "perceiver/kernels/norm/training_kernels.h"

namespace perceiver {
namespace {

constexpr auto kEpsilon = static_cast<float>(kNormEpsilon);
constexpr unsigned kThreads = 256;  // that a block has about
constexpr int kProcessors = 132;    // of an H200: the gradient has blocks for each

template <typename T, typename H>
__global__ void __launch_bounds__(kMaxRowThreads) layer_norm_kernel(LayerNormPass p) {
  __shared__ float2 slots[2][kMaxRowThreads / 32];
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool there = row < p.rows;  // every thread meets the barriers
  const int channels = there ? static_cast<int>(p.channels) : 0;
  H z;
  const int64_t x_row = p.x_rows == p.rows ? row : row % p.x_rows;
  z.load(static_cast<const T*>(p.x) + x_row * p.x_stride, channels);
  if (p.y != nullptr) {
    H y;
    y.load(static_cast<const Narrow*>(p.y) + row * p.y_stride, channels);
    if (p.bias != nullptr) {
      H bias;
      bias.load(p.bias, channels);
      y.each(channels, [&](float& v, int i, int j) { v += bias.at[i][j]; });
    }
    // Rounded as it is stored: what is normalised is what the next layer finds.
    z.each(channels, [&](float& v, int i, int j) { v = to_float(from_float<T>(v + y.at[i][j])); });
    z.store(static_cast<T*>(p.sum) + row * p.channels, channels);
  }
  float sum = 0, squares = 0;
  z.each(channels, [&](float v, int, int) { sum += v; });
  const float mean = row_sums<H>({sum, 0}, slots[0]).x / static_cast<float>(p.channels);
  z.each(channels, [&](float v, int, int) { squares += (v - mean) * (v - mean); });
  const float variance = row_sums<H>({squares, 0}, slots[1]).x / static_cast<float>(p.channels);
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
        if (H::is_there(i, channels)) {
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

// The block's sum of `held` over its rows goes to `to` [C].
template <typename H>
__device__ void store_block_sum(H& held, float* shared, float* to, int channels) {
  const int width = H::threads() * H::V * H::kItems;
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
__global__ void __launch_bounds__(kMaxRowThreads) layer_norm_gradient_kernel(LayerNormGradient p) {
  extern __shared__ float shared[];
  __shared__ float2 slots[2][kMaxRowThreads / 32];
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
    sums = row_sums<H>(sums, slots[turn ^= 1]);
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

template <typename T, typename H>
void launch(const LayerNormPass& p, cudaStream_t stream) {
  const RowThreads t = row_threads(p.channels, H::V, H::kItems, kThreads);
  const auto blocks = static_cast<unsigned>((p.rows + t.rows - 1) / t.rows);
  layer_norm_kernel<T, H><<<blocks, dim3(t.row, t.rows), 0, stream>>>(p);
}

// As many blocks as fit beside one another: with up to 128 registers a thread, a multiprocessor has
// room for sixteen warps.
constexpr unsigned kGradientThreads = 160;
constexpr int kWarpsTogether = 16, kMostGradientBlocks = 5 * kProcessors;
int64_t gradient_blocks(int64_t rows, const RowThreads& t) {
  const int64_t together = std::max<int64_t>(1, 32 * kWarpsTogether / (t.row * t.rows));
  const int64_t most = std::min<int64_t>(together * kProcessors, kMostGradientBlocks);
  return std::clamp<int64_t>((rows + t.rows - 1) / t.rows, 1, most);
}

template <typename T, typename H>
void launch(const LayerNormGradient& p, cudaStream_t stream) {
  const RowThreads t = row_threads(p.channels, H::V, H::kItems, kGradientThreads);
  const int64_t blocks = gradient_blocks(p.rows, t);
  const size_t shared = sizeof(float) * t.row * t.rows * H::V * H::kItems;
  layer_norm_gradient_kernel<T, H>
      <<<static_cast<unsigned>(blocks), dim3(t.row, t.rows), shared, stream>>>(p);
  sum_parts({p.workspace, blocks, 3 * p.channels, p.sums}, stream, p.also);
}

bool can_be(int64_t channels, CudaDtype dtype) {
  return channels >= 1 && channels <= kMaxTrainingChannels && dtype != CudaDtype::kFloat16;
}

}  // namespace

cudaError_t layer_norm(const LayerNormPass& p, cudaStream_t stream) {
  if (!can_be(p.channels, p.dtype) || p.out_stride < p.channels) return cudaErrorInvalidValue;
  if (p.rows == 0) return cudaSuccess;
  with_wide_dtype(p.dtype, [&]<typename T>(T*) {
    with_layout<T>(p.channels, p.x_stride | p.y_stride | p.out_stride,
                   bits(p.x) | bits(p.y) | bits(p.bias) | bits(p.sum) | bits(p.scale) |
                       bits(p.offset) | bits(p.out),
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
    with_layout<T>(
        p.channels, p.z_stride | p.gradient_stride | p.narrow_stride,
        bits(p.gradient) | bits(p.z) | bits(p.scale) | bits(p.passed) | bits(p.dz) | bits(p.narrow),
        [&]<typename H>(H) { launch<T, H>(p, stream); });
  });
  return cudaGetLastError();
}

}  // namespace perceiver
