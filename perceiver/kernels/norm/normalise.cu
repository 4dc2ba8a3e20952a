#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/norm/epsilon.h"
#include "perceiver/kernels/norm/normalise.h"

namespace perceiver {
namespace {

constexpr int kThreads = 128;
constexpr auto kEpsilon = static_cast<float>(kNormEpsilon);
constexpr int64_t kMostRows = int64_t{1} << 31;  // kernels count in 32 bits, which divide faster

// How T threads hold a row of up to T * kItems * V channels: thread t has the packs t, t + T, ...
// Fewer threads a row than a warp has keep all of them busy where a row has few packs, and add up
// several rows at once.
template <int V_, int T_, int kItems_>
struct RowLayout {
  static constexpr int V = V_, T = T_, kItems = kItems_;
  // That a multiprocessor should hold, which is what registers are for then. Narrow packs have more
  // of them for addresses than that leaves.
  static constexpr int kBlocks = V < 8 ? 1 : V * kItems <= 32 ? 8 : V * kItems <= 40 ? 6 : 5;
  using Held = float[kItems][V];

  __device__ static int channel(int item) {
    return (item * T + static_cast<int>(threadIdx.x) % T) * V;
  }
};

// Sum over the T threads of a row. Each call of a kernel has its own slot of shared memory, so one
// barrier is enough.
template <int T>
__device__ float row_sum(float x, float* slot) {
#pragma unroll
  for (int step = min(T, 32) / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  if constexpr (T > 32) {
    if (threadIdx.x % 32 == 0) slot[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
#pragma unroll
    for (int warp = 0; warp < T / 32; ++warp) x += slot[warp];
  }
  return x;
}

// Where C is not a multiple of V, the last pack reaches beyond it.
template <int V>
__device__ void clear_behind(int channel, int channels, float (&pack)[V]) {
  if (channel + V <= channels) return;
#pragma unroll
  for (int j = 0; j < V; ++j) {
    if (channel + j >= channels) pack[j] = 0;
  }
}

// The thread's part of a row, zeros behind its end.
template <typename L, typename In>
__device__ void load_row(const In* x, int channels, typename L::Held& held) {
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
    const int channel = L::channel(i);
#pragma unroll
    for (int j = 0; j < L::V; ++j) held[i][j] = 0;
    if (channel < channels) load_pack(x + channel, held[i]);
  }
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) clear_behind(L::channel(i), channels, held[i]);
}

// Rounded as it would be stored: what is normalised is what the next layer finds, or would find.
template <typename In, int V>
__device__ void add_rounded(float (&held)[V], const float (&added)[V]) {
#pragma unroll
  for (int j = 0; j < V; ++j) held[j] = to_float(from_float<In>(held[j] + added[j]));
}

// Where a kernel's rows come from.
template <typename In>
struct GivenRows {
  static constexpr bool kAlwaysPacked = false;
  const In* x;
  int64_t stride;

  template <typename L>
  __device__ void load(unsigned row, int channels, typename L::Held& held) const {
    load_row<L>(x + row * stride, channels, held);
  }
  bool packs_fit(int V, const RowShape& s) const {
    return s.stride % V == 0 && is_aligned(x, V * sizeof(In)) &&
           (s.channels % V == 0 || s.readable >= (s.channels + V - 1) / V * V);
  }
};

template <typename In>
struct AddedToRows {
  static constexpr bool kAlwaysPacked = false;
  In* z;
  const In* y;
  int64_t stride;
  unsigned period;

  template <typename L>
  __device__ void load(unsigned row, int channels, typename L::Held& held) const {
    In* row_of_z = z + row * stride;
    load_row<L>(row_of_z, channels, held);
    const In* other = y + static_cast<int64_t>(row % period) * stride;
#pragma unroll
    for (int i = 0; i < L::kItems; ++i) {
      if (L::channel(i) >= channels) continue;
      float added[L::V];
      load_pack(other + L::channel(i), added);
      add_rounded<In>(held[i], added);
    }
    // Stores after all loads, which they would hold up.
#pragma unroll
    for (int i = 0; i < L::kItems; ++i) {
      if (L::channel(i) < channels) store_pack(row_of_z + L::channel(i), held[i]);
    }
  }
  bool packs_fit(int V, const RowShape& s) const {
    return s.channels % V == 0 && s.stride % V == 0 && is_aligned(z, V * sizeof(In)) &&
           is_aligned(y, V * sizeof(In));
  }
};

template <typename In>
struct RowsAtPlaces {
  static constexpr bool kAlwaysPacked = true;
  PlacedRows r;
  int64_t places_stride;
  bool packed;  // content comes in packs too

  template <typename L>
  __device__ void load(unsigned row, int channels, typename L::Held& held) const {
    const auto num_places = static_cast<unsigned>(r.num_places);
    const int64_t example = row / num_places, place = row % num_places;
    load_row<L>(static_cast<const In*>(r.places) + place * places_stride, channels, held);
    const int64_t offset =
        r.ids ? r.ids[row] * r.row_stride : example * r.batch_stride + place * r.row_stride;
    const In* content = static_cast<const In*>(r.content) + offset;
#pragma unroll
    for (int i = 0; i < L::kItems; ++i) {
      const int channel = L::channel(i);
      const int end = min(channels, static_cast<int>(r.content_channels));
      if (channel >= end) continue;
      float added[L::V] = {};
      if (packed) {
        load_pack(content + channel, added);
      } else {
#pragma unroll
        for (int j = 0; j < L::V; ++j) {
          if (channel + j < end) added[j] = to_float(content[(channel + j) * r.channel_stride]);
        }
      }
      add_rounded<In>(held[i], added);
    }
  }
  bool packs_fit(int V, const RowShape&) const {
    return is_aligned(r.places, V * sizeof(In)) && places_stride % V == 0;
  }
};

// Channels of the row, and what the last pack has behind them.
template <typename L, typename Out>
__device__ void store_row(Out* out, int channels, const typename L::Held& held) {
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
    if (L::channel(i) < channels) store_pack(out + L::channel(i), held[i]);
  }
}

// The packs behind those that hold channels.
template <typename L, typename Out>
__device__ void pad_row(Out* out, const RowShape& shape) {
  const int64_t held = (shape.channels + L::V - 1) / L::V * L::V;
  for (int64_t channel = held + L::channel(0); channel < shape.out_stride; channel += L::T * L::V) {
    float padding[L::V] = {};
    if (shape.constant && channel == shape.channels) padding[0] = 1;
    store_pack(out + channel, padding);
  }
}

// The mean first and the squares around it second: the squares' own sum would lose the variance of
// a row that is far from zero.
template <typename L>
__device__ void normalise_held(const RowShape& shape, typename L::Held& held) {
  __shared__ float slots[2][kThreads / 32];
  const int channels = static_cast<int>(shape.channels);
  float sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
#pragma unroll
    for (int j = 0; j < L::V; ++j) sum += held[i][j];
  }
  const float mean = row_sum<L::T>(sum, slots[0]) / channels;
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
    const int channel = L::channel(i);
    if (channel >= channels) continue;
#pragma unroll
    for (int j = 0; j < L::V; ++j) held[i][j] -= mean;
    clear_behind(channel, channels, held[i]);
#pragma unroll
    for (int j = 0; j < L::V; ++j) squares += held[i][j] * held[i][j];
  }
  const float scale = rsqrtf(row_sum<L::T>(squares, slots[1]) / channels + kEpsilon);
#pragma unroll
  for (int i = 0; i < L::kItems; ++i) {
#pragma unroll
    for (int j = 0; j < L::V; ++j) held[i][j] *= scale;
    if (!shape.constant || L::channel(i) + L::V <= channels) continue;
#pragma unroll
    for (int j = 0; j < L::V; ++j) {
      if (L::channel(i) + j == channels) held[i][j] = 1;
    }
  }
}

template <typename L, typename Source, typename Out>
__global__ void __launch_bounds__(kThreads, L::kBlocks)
    normalise_kernel(RowShape shape, Source source, Out* out) {
  const unsigned row = blockIdx.x * (kThreads / L::T) + threadIdx.x / L::T;
  // Threads of a row that is not there help to add up those of their warp.
  const bool there = row < shape.rows;
  const int channels = there ? static_cast<int>(shape.channels) : 0;
  typename L::Held held;
  source.template load<L>(there ? row : 0, channels, held);
  normalise_held<L>(shape, held);
  if (!there) return;
  store_row<L>(out + row * shape.out_stride, channels, held);
  pad_row<L>(out + row * shape.out_stride, shape);
}

template <typename L, typename Source, typename Out>
void launch(const RowShape& s, const Source& source, Out* out, cudaStream_t stream) {
  constexpr int kRows = kThreads / L::T;
  const auto blocks = static_cast<unsigned>((s.rows + kRows - 1) / kRows);
  normalise_kernel<L><<<blocks, kThreads, 0, stream>>>(s, source, out);
}

// In packs of 16 bytes, that is in eights: how many threads have a row of how many channels follows
// from how full that makes them. Above 1280 channels, or where rows are too few to fill the GPU
// with warps, a block has a row.
template <typename Source, typename Out>
void launch_eights(const RowShape& s, const Source& source, Out* out, cudaStream_t stream) {
  constexpr int64_t kFewRows = 2048;
  if (s.channels <= 384) return launch<RowLayout<8, 8, 6>>(s, source, out, stream);
  if (s.channels <= 512) return launch<RowLayout<8, 16, 4>>(s, source, out, stream);
  if (s.channels <= 768) return launch<RowLayout<8, 32, 3>>(s, source, out, stream);
  if (s.channels <= 1024) return launch<RowLayout<8, 32, 4>>(s, source, out, stream);
  if (s.channels <= 1280 && s.rows >= kFewRows) {
    return launch<RowLayout<8, 32, 5>>(s, source, out, stream);
  }
  launch<RowLayout<8, kThreads, 2>>(s, source, out, stream);
}

// Other packs, where rows do not lie on 16 bytes or elements have four.
template <int V, typename Source, typename Out>
void launch_others(const RowShape& s, const Source& source, Out* out, cudaStream_t stream) {
  if (s.channels <= 512) return launch<RowLayout<V, 32, 16 / V>>(s, source, out, stream);
  if (s.channels <= 1024) return launch<RowLayout<V, 32, 32 / V>>(s, source, out, stream);
  launch<RowLayout<V, kThreads, 16 / V>>(s, source, out, stream);
}

template <typename In, typename Source, typename Out>
cudaError_t normalise_rows(const RowShape& s, const Source& source, Out* out, cudaStream_t stream) {
  constexpr int kWide = 16 / sizeof(In);
  const auto packs_fit = [&](int V) {
    return source.packs_fit(V, s) && s.out_stride % V == 0 &&
           s.out_stride >= (s.channels + V - 1) / V * V && is_aligned(out, V * sizeof(Out));
  };
  if (packs_fit(kWide)) {
    if constexpr (kWide == 8) {
      launch_eights(s, source, out, stream);
    } else {
      launch_others<kWide>(s, source, out, stream);
    }
  } else if constexpr (Source::kAlwaysPacked) {
    return cudaErrorInvalidValue;
  } else if (packs_fit(2)) {
    launch_others<2>(s, source, out, stream);
  } else {
    launch_others<1>(s, source, out, stream);
  }
  return cudaGetLastError();
}

bool sizes_fit(const RowShape& s) {
  return s.channels >= 1 && s.channels <= kMaxRowChannels && s.rows <= kMostRows &&
         s.out_stride >= s.channels + (s.constant ? 1 : 0);
}

// Calls f with null pointers of both types, where they are a pair that rows are normalised in.
template <typename Function>
cudaError_t with_dtypes(CudaDtype dtype, CudaDtype out_dtype, Function f) {
  cudaError_t error = cudaErrorInvalidValue;
  with_dtype(dtype, [&]<typename In>(In* in) {
    with_dtype(out_dtype, [&]<typename Out>(Out* out) {
      if constexpr (std::is_same_v<In, float> || std::is_same_v<In, Out>) error = f(in, out);
    });
  });
  return error;
}

}  // namespace

cudaError_t normalise(const RowShape& s, CudaDtype dtype, const void* x, CudaDtype out_dtype,
                      void* out, cudaStream_t stream) {
  if (!sizes_fit(s) || s.stride < s.channels) return cudaErrorInvalidValue;
  if (s.rows == 0) return cudaSuccess;
  return with_dtypes(dtype, out_dtype, [&]<typename In, typename Out>(In*, Out*) {
    const GivenRows<In> source = {static_cast<const In*>(x), s.stride};
    return normalise_rows<In>(s, source, static_cast<Out*>(out), stream);
  });
}

cudaError_t add_normalise(const RowShape& s, CudaDtype dtype, void* z, const void* y,
                          int64_t period, CudaDtype out_dtype, void* out, cudaStream_t stream) {
  if (!sizes_fit(s) || s.stride < s.channels || y == nullptr || period < 1) {
    return cudaErrorInvalidValue;
  }
  if (s.rows == 0) return cudaSuccess;
  return with_dtypes(dtype, out_dtype, [&]<typename In, typename Out>(In*, Out*) {
    const AddedToRows<In> source = {static_cast<In*>(z), static_cast<const In*>(y), s.stride,
                                    static_cast<unsigned>(period)};
    return normalise_rows<In>(s, source, static_cast<Out*>(out), stream);
  });
}

cudaError_t normalise_placed(const RowShape& s, CudaDtype dtype, const PlacedRows& rows, void* out,
                             cudaStream_t stream) {
  constexpr int kWide = 8;
  if (!sizes_fit(s) || s.out_stride % kWide != 0 || rows.num_places < 1 ||
      rows.content_channels > s.channels || dtype == CudaDtype::kFloat32) {
    return cudaErrorInvalidValue;
  }
  if (s.rows == 0) return cudaSuccess;
  const bool packed = rows.channel_stride == 1 && rows.content_channels % kWide == 0 &&
                      rows.row_stride % kWide == 0 && rows.batch_stride % kWide == 0 &&
                      is_aligned(rows.content, 16);
  cudaError_t error = cudaErrorInvalidValue;
  with_dtype(dtype, [&]<typename T>(T*) {
    if constexpr (sizeof(T) == 2) {
      const RowsAtPlaces<T> source = {rows, s.out_stride, packed};
      error = normalise_rows<T>(s, source, static_cast<T*>(out), stream);
    }
  });
  return error;
}

}  // namespace perceiver
