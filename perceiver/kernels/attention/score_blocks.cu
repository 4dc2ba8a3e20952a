#include "perceiver/kernels/attention/score_blocks.h"
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

// Over a whole block; every thread gets the result. `slots` may be used again after a barrier.
template <typename Combine>
__device__ float block_combine(float x, float* slots, Combine combine) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = combine(x, __shfl_xor_sync(0xffffffffu, x, step));
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
  __syncthreads();
  x = slots[0];
#pragma unroll
  for (int warp = 1; warp < kThreads / 32; ++warp) x = combine(x, slots[warp]);
  return x;
}

// A block for each row, which stays in the cache between the three looks at it.
template <int V, typename T>
__global__ void __launch_bounds__(kThreads)
    softmax_kernel(ScoreBlock b, float scale, T* scores, float* log_sum_exp) {
  __shared__ float slots[2][kThreads / 32];
  Place<V> at;
  at.row = blockIdx.x;
  T* row = scores + at.row * b.stride;
  const auto each = [&](auto f) {
    for (at.key = int64_t{threadIdx.x} * V; at.key < b.keys; at.key += kThreads * V) {
      const Pack<uint8_t, V> mask = mask_at<V>(b, at);
      float x[V];
      load_pack(row + at.key, x);
#pragma unroll
      for (int j = 0; j < V; ++j) x[j] = mask.at[j] != 0 ? scale * x[j] : -INFINITY;
      f(x);
    }
  };
  float largest = -INFINITY, sum = 0;
  each([&](const float(&x)[V]) {
#pragma unroll
    for (int j = 0; j < V; ++j) largest = fmaxf(largest, x[j]);
  });
  largest = block_combine(largest, slots[0], [](float x, float y) { return fmaxf(x, y); });
  const float from = largest == -INFINITY ? 0.0f : largest;  // -inf - -inf would be NaN
  each([&](const float(&x)[V]) {
#pragma unroll
    for (int j = 0; j < V; ++j) sum += expf(x[j] - from);
  });
  sum = block_combine(sum, slots[1], [](float x, float y) { return x + y; });
  const float share = sum > 0 ? 1.0f / sum : 0.0f;
  each([&](float(&x)[V]) {
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] = expf(x[j] - from) * share;
    store_pack(row + at.key, x);
  });
  if (threadIdx.x == 0) log_sum_exp[at.row] = sum > 0 ? from + logf(sum) : -INFINITY;
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

cudaError_t attention_softmax(const ScoreBlock& block, float scale, void* scores,
                              float* log_sum_exp, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  with_dtype(block.dtype, [&]<typename T>(T*) {
    T* rows = static_cast<T*>(scores);
    error = launch_over<T>(block, rows, rows, [&]<int V>(std::integral_constant<int, V>, Launch) {
      softmax_kernel<V><<<static_cast<unsigned>(block.rows), kThreads, 0, stream>>>(
          block, scale, rows, log_sum_exp);
    });
  });
  return error;
}

}  // namespace perceiver
