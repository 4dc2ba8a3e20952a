#include "perceiver/kernels/cuda/attention_pieces.h"
#include "perceiver/kernels/cuda/pack.h"

namespace perceiver {
namespace {

constexpr int kThreads = 256;

// Where a thread of a launch over [R, M] stands: its row, and the first of its V keys.
template <int V>
struct Place {
  int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  int64_t key = (int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * V;

  __device__ bool outside(const ScoreBlock& b) const { return row >= b.rows || key >= b.keys; }
};

template <int V>
__device__ Pack<uint8_t, V> mask_at(const ScoreBlock& b, const Place<V>& at) {
  Pack<uint8_t, V> mask;
  if (b.kv_mask != nullptr) {
    const uint8_t* from = b.kv_mask + at.row / b.rows_per_mask * b.mask_stride + at.key;
    mask = *reinterpret_cast<const Pack<uint8_t, V>*>(from);
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j) mask.at[j] = 1;
  }
  return mask;
}

template <int V, typename T>
__global__ void __launch_bounds__(kThreads)
    weights_kernel(ScoreBlock b, float scale, const T* scores, const float* log_sum_exp,
                   T* weights) {
  const Place<V> at;
  if (at.outside(b)) return;
  float x[V];
  load_pack(scores + at.row * b.stride + at.key, x);
  const float normaliser = log_sum_exp[at.row];
  const Pack<uint8_t, V> mask = mask_at<V>(b, at);
#pragma unroll
  for (int j = 0; j < V; ++j) {
    // Chosen, not multiplied: the score of no key may be anything, and a row of none has -inf.
    x[j] = mask.at[j] != 0 && normaliser != -INFINITY ? expf(scale * x[j] - normaliser) : 0.0f;
  }
  store_pack(weights + at.row * b.stride + at.key, x);
}

template <int V, typename T>
__global__ void __launch_bounds__(kThreads)
    score_gradient_kernel(ScoreBlock b, float scale, const T* weights, const float* delta,
                          T* gradient) {
  const Place<V> at;
  if (at.outside(b)) return;
  float p[V], x[V];
  load_pack(weights + at.row * b.stride + at.key, p);
  load_pack(gradient + at.row * b.stride + at.key, x);
  const float mean = delta[at.row];
#pragma unroll
  for (int j = 0; j < V; ++j) x[j] = p[j] * (x[j] - mean) * scale;
  store_pack(gradient + at.row * b.stride + at.key, x);
}

// A warp for each row.
template <int V, typename T>
__global__ void __launch_bounds__(kThreads)
    row_products_kernel(int64_t rows, int64_t channels, const T* a, int64_t a_stride, const T* b,
                        int64_t b_stride, float* delta) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const int lane = threadIdx.x % 32;
  float sum = 0;
#pragma unroll 4
  for (int64_t channel = lane * V; channel < channels; channel += 32 * V) {
    float x[V], y[V];
    load_pack(a + row * a_stride + channel, x);
    load_pack(b + row * b_stride + channel, y);
#pragma unroll
    for (int j = 0; j < V; ++j) sum += x[j] * y[j];
  }
  sum = warp_sum(sum);
  if (lane == 0) delta[row] = sum;
}

unsigned ceil_div(int64_t a, int64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

// Short rows share a block, long ones take several.
struct Launch {
  dim3 grid, threads;

  Launch(const ScoreBlock& b, int V) {
    unsigned across = 32;
    while (across < kThreads && across * V < b.keys) across *= 2;
    threads = dim3(across, kThreads / across);
    grid = dim3(ceil_div(b.rows, threads.y), ceil_div(b.keys, int64_t{across} * V));
  }
};

template <typename T>
bool packs_fit(int V, const ScoreBlock& b, const T* one, const T* other) {
  const bool mask_fits =
      b.kv_mask == nullptr || (b.mask_stride % V == 0 && is_aligned(b.kv_mask, V));
  return b.keys % V == 0 && b.stride % V == 0 && mask_fits && is_aligned(one, V * sizeof(T)) &&
         is_aligned(other, V * sizeof(T));
}

// Calls launch(V, how) with the widest packs that fit.
template <typename T, typename Function>
cudaError_t launch_over(const ScoreBlock& b, const T* one, const T* other, Function launch) {
  constexpr int kWide = 16 / sizeof(T);
  if (b.rows == 0 || b.keys == 0) return cudaSuccess;
  if (packs_fit(kWide, b, one, other)) {
    launch(std::integral_constant<int, kWide>{}, Launch(b, kWide));
  } else {
    launch(std::integral_constant<int, 1>{}, Launch(b, 1));
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention_weights(const ScoreBlock& block, float scale, const void* scores,
                              const float* log_sum_exp, void* weights, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  with_dtype(block.dtype, [&]<typename T>(T*) {
    const T* from = static_cast<const T*>(scores);
    T* to = static_cast<T*>(weights);
    error = launch_over<T>(block, from, to, [&]<int V>(std::integral_constant<int, V>, Launch l) {
      weights_kernel<V><<<l.grid, l.threads, 0, stream>>>(block, scale, from, log_sum_exp, to);
    });
  });
  return error;
}

cudaError_t score_gradient(const ScoreBlock& block, float scale, const void* weights,
                           const float* delta, void* gradient, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  with_dtype(block.dtype, [&]<typename T>(T*) {
    const T* from = static_cast<const T*>(weights);
    T* to = static_cast<T*>(gradient);
    error = launch_over<T>(block, from, to, [&]<int V>(std::integral_constant<int, V>, Launch l) {
      score_gradient_kernel<V><<<l.grid, l.threads, 0, stream>>>(block, scale, from, delta, to);
    });
  });
  return error;
}

cudaError_t row_products(int64_t rows, int64_t channels, CudaDtype dtype, const void* a,
                         int64_t a_stride, const void* b, int64_t b_stride, float* delta,
                         cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  const unsigned blocks = ceil_div(rows, kThreads / 32);
  with_dtype(dtype, [&]<typename T>(T*) {
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    constexpr int kWide = 16 / sizeof(T);
    if ((channels | a_stride | b_stride) % kWide == 0 && is_aligned(a, 16) && is_aligned(b, 16)) {
      row_products_kernel<kWide>
          <<<blocks, kThreads, 0, stream>>>(rows, channels, x, a_stride, y, b_stride, delta);
    } else {
      row_products_kernel<1>
          <<<blocks, kThreads, 0, stream>>>(rows, channels, x, a_stride, y, b_stride, delta);
    }
  });
  return cudaGetLastError();
}

}  // namespace perceiver
