#include <algorithm>

#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/embedding/gather_rows.h"

namespace perceiver {
namespace {

constexpr int kMostThreads = 256;
constexpr int kExamples = 4;  // to which a block gives the same place

// Nothing is read before the wait: tables may have just been made.
template <int V, int E, typename In, typename Out>
__global__ void __launch_bounds__(kMostThreads) look_up_kernel(LookUp p) {
  wait_for_kernels_before();
  let_next_kernel_come();
  const int64_t place = blockIdx.x, first = int64_t{blockIdx.y} * E;
  int64_t id[E];
  float scale[E];
#pragma unroll
  for (int e = 0; e < E; ++e) id[e] = p.ids[min(first + e, p.batch - 1) * p.length + place];
#pragma unroll
  for (int e = 0; e < E; ++e) scale[e] = p.scales[id[e] * p.num_places + place];
  for (int64_t channel = int64_t{threadIdx.x} * V; channel < p.channels;
       channel += int64_t{blockDim.x} * V) {
    float of_place[V], bias[V], x[E][V];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      load_pack(static_cast<const In*>(p.of_ids) + id[e] * p.channels + channel, x[e]);
    }
    load_pack(static_cast<const In*>(p.of_places) + place * p.channels + channel, of_place);
    load_pack(p.bias + channel, bias);
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (first + e >= p.batch) break;
#pragma unroll
      for (int j = 0; j < V; ++j) x[e][j] = scale[e] * (x[e][j] + of_place[j]) + bias[j];
      store_pack(static_cast<Out*>(p.out) + ((first + e) * p.length + place) * p.channels + channel,
                 x[e]);
    }
  }
}

template <int V, int E, typename In, typename Out>
cudaError_t launch(const LookUp& p, cudaStream_t stream) {
  const int64_t warps = (p.channels + 32 * V - 1) / (32 * V);
  const KernelLaunch how{
      .blocks = dim3(static_cast<unsigned>(p.length), static_cast<unsigned>((p.batch + E - 1) / E)),
      .threads = dim3(static_cast<unsigned>(std::min<int64_t>(32 * warps, kMostThreads))),
      .shared_bytes = 0,
      .stream = stream};
  return start_early(look_up_kernel<V, E, In, Out>, how, p);
}

template <int V, typename In, typename Out>
cudaError_t launch(const LookUp& p, cudaStream_t stream) {
  return p.batch < kExamples ? launch<V, 1, In, Out>(p, stream)
                             : launch<V, kExamples, In, Out>(p, stream);
}

}  // namespace

cudaError_t look_up(const LookUp& p, CudaDtype tables, CudaDtype out, cudaStream_t stream) {
  if (p.batch == 0 || p.length == 0) return cudaSuccess;
  cudaError_t error = cudaErrorInvalidValue;
  with_dtype(tables, [&]<typename In>(In*) {
    with_dtype(out, [&]<typename Out>(Out*) {
      if constexpr (std::is_same_v<In, float> || std::is_same_v<In, Out>) {
        constexpr int kWide = 16 / sizeof(Out);
        const bool packs = p.channels % kWide == 0 && is_aligned(p.of_ids, 16) &&
                           is_aligned(p.of_places, 16) && is_aligned(p.bias, 16) &&
                           is_aligned(p.out, 16);
        error = packs ? launch<kWide, In, Out>(p, stream) : launch<1, In, Out>(p, stream);
      }
    });
  });
  return error;
}

}  // namespace perceiver
