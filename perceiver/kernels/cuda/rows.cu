#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/rows.h"

namespace perceiver {
namespace {

constexpr int kThreads = 128;
constexpr float kEpsilon = 1e-5f;

template <typename In, typename Out>
struct RowPointers {
  In* x;
  const In* y;  // added to x first; null: nothing is
  Out* out;
};

// How T threads hold a row of up to T * kItems * V channels: thread t has the packs t, t + T, ...
template <int V_, int T_, int kHeld>
struct RowLayout {
  static constexpr int V = V_, T = T_, kItems = kHeld / V_;
};

// Sum over the T threads of a row. Each call of a kernel has its own slot of shared memory, so one
// barrier is enough.
template <int T>
__device__ float row_sum(float x, float* slot) {
  float sum = warp_sum(x);
  if constexpr (T > 32) {
    if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int warp = 0; warp < T / 32; ++warp) sum += slot[warp];
  }
  return sum;
}

// The thread's part of a row, zeros behind its end; the sum with y's where kAdd.
template <typename L, bool kAdd, typename In>
__device__ void load_row(const In* x, const In* y, int channels, float (&held)[L::kItems][L::V]) {
  const int t = threadIdx.x % L::T;
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
    const int channel = (i * L::T + t) * L::V;
#pragma unroll
    for (int j = 0; j < L::V; ++j) held[i][j] = 0;
    if (channel >= channels) continue;
    load_pack(x + channel, held[i]);
    if constexpr (kAdd) {
      float added[L::V];
      load_pack(y + channel, added);
      // Rounded as it will be stored: what is normalised is what the next layer finds in z.
#pragma unroll
      for (int j = 0; j < L::V; ++j) held[i][j] = to_float(from_float<In>(held[i][j] + added[j]));
    }
  }
}

template <typename L, typename T>
__device__ void store_row(T* to, int channels, const float (&held)[L::kItems][L::V]) {
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
    const int channel = (i * L::T + static_cast<int>(threadIdx.x) % L::T) * L::V;
    if (channel < channels) store_pack(to + channel, held[i]);
  }
}

// Channels C to P - 1
template <typename L, typename Out>
__device__ void pad_row(Out* out, const RowShape& shape) {
  const int64_t first = shape.channels + threadIdx.x % L::T * L::V;
  for (int64_t channel = first; channel < shape.out_stride; channel += L::T * L::V) {
    float padding[L::V] = {};
    if (shape.constant && channel == shape.channels) padding[0] = 1;
    store_pack(out + channel, padding);
  }
}

// The mean first and the squares around it second: the squares' own sum would lose the variance of
// a row that is far from zero.
template <typename L>
__device__ void normalise_held(int channels, float (&held)[L::kItems][L::V]) {
  __shared__ float slots[2][kThreads / 32];
  float sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
#pragma unroll
    for (int j = 0; j < L::V; ++j) sum += held[i][j];
  }
  const float mean = row_sum<L::T>(sum, slots[0]) / channels;
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
    const bool inside = (i * L::T + static_cast<int>(threadIdx.x) % L::T) * L::V < channels;
#pragma unroll
    for (int j = 0; j < L::V; ++j) {
      held[i][j] -= mean;
      if (inside) squares += held[i][j] * held[i][j];
    }
  }
  const float scale = rsqrtf(row_sum<L::T>(squares, slots[1]) / channels + kEpsilon);
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
#pragma unroll
    for (int j = 0; j < L::V; ++j) held[i][j] *= scale;
  }
}

template <typename In, typename Out, typename L, bool kAdd>
__global__ void __launch_bounds__(kThreads)
    normalise_kernel(RowShape shape, RowPointers<In, Out> p) {
  const int64_t row = int64_t{blockIdx.x} * (kThreads / L::T) + threadIdx.x / L::T;
  if (row >= shape.rows) return;  // whole warps; a row that takes a whole block is always there
  const int channels = static_cast<int>(shape.channels);
  In* x = p.x + row * shape.stride;
  Out* out = p.out + row * shape.out_stride;
  float held[L::kItems][L::V];
  load_row<L, kAdd>(x, kAdd ? p.y + row * shape.stride : nullptr, channels, held);
  if constexpr (kAdd) store_row<L>(x, channels, held);
  normalise_held<L>(channels, held);
  store_row<L>(out, channels, held);
  pad_row<L>(out, shape);
}

template <typename L, typename In, typename Out>
void launch(const RowShape& s, const RowPointers<In, Out>& p, cudaStream_t stream) {
  constexpr int kRows = kThreads / L::T;
  const auto blocks = static_cast<unsigned>((s.rows + kRows - 1) / kRows);
  if (p.y != nullptr) {
    normalise_kernel<In, Out, L, true><<<blocks, kThreads, 0, stream>>>(s, p);
  } else {
    normalise_kernel<In, Out, L, false><<<blocks, kThreads, 0, stream>>>(s, p);
  }
}

// A warp holds 1024 channels in 32 registers a lane; above that a block has the row, with 16.
template <int V, typename In, typename Out>
void launch_for_channels(const RowShape& s, const RowPointers<In, Out>& p, cudaStream_t stream) {
  if (s.channels <= 512) return launch<RowLayout<V, 32, 16>>(s, p, stream);
  if (s.channels <= 1024) return launch<RowLayout<V, 32, 32>>(s, p, stream);
  launch<RowLayout<V, kThreads, 16>>(s, p, stream);
}

template <typename In, typename Out>
bool packs_fit(int V, const RowShape& s, const RowPointers<In, Out>& p) {
  return s.channels % V == 0 && s.stride % V == 0 && s.out_stride % V == 0 &&
         is_aligned(p.x, V * sizeof(In)) && is_aligned(p.y, V * sizeof(In)) &&
         is_aligned(p.out, V * sizeof(Out));
}

template <typename In, typename Out>
cudaError_t normalise_rows(const RowShape& s, const RowPointers<In, Out>& p, cudaStream_t stream) {
  constexpr int kWide = 16 / sizeof(In);
  if (packs_fit(kWide, s, p)) {
    launch_for_channels<kWide>(s, p, stream);
  } else if (packs_fit(2, s, p)) {
    launch_for_channels<2>(s, p, stream);
  } else {
    launch_for_channels<1>(s, p, stream);
  }
  return cudaGetLastError();
}

cudaError_t dispatch(const RowShape& s, CudaDtype dtype, void* x, const void* y,
                     CudaDtype out_dtype, void* out, cudaStream_t stream) {
  const int64_t needed = s.channels + (s.constant ? 1 : 0);
  if (s.channels < 1 || s.channels > kMaxRowChannels || s.stride < s.channels ||
      s.out_stride < needed || (dtype != out_dtype && dtype != CudaDtype::kFloat32)) {
    return cudaErrorInvalidValue;
  }
  if (s.rows == 0) return cudaSuccess;
  cudaError_t error = cudaErrorInvalidValue;
  with_dtype(dtype, [&]<typename In>(In*) {
    with_dtype(out_dtype, [&]<typename Out>(Out*) {
      if constexpr (std::is_same_v<In, float> || std::is_same_v<In, Out>) {
        const RowPointers<In, Out> p = {static_cast<In*>(x), static_cast<const In*>(y),
                                        static_cast<Out*>(out)};
        error = normalise_rows(s, p, stream);
      }
    });
  });
  return error;
}

}  // namespace

cudaError_t normalise(const RowShape& shape, CudaDtype dtype, const void* x, CudaDtype out_dtype,
                      void* out, cudaStream_t stream) {
  // Not written to: without y there is nothing to store back.
  return dispatch(shape, dtype, const_cast<void*>(x), nullptr, out_dtype, out, stream);
}

cudaError_t add_normalise(const RowShape& shape, CudaDtype dtype, void* z, const void* y,
                          CudaDtype out_dtype, void* out, cudaStream_t stream) {
  if (y == nullptr) return cudaErrorInvalidValue;
  return dispatch(shape, dtype, z, y, out_dtype, out, stream);
}

}  // namespace perceiver
