#include <algorithm>

#include "perceiver/kernels/attention/few_keys.h"
#include "perceiver/kernels/attention/few_keys_forward_sm80.h"
#include "perceiver/kernels/attention/few_keys_forward_sm90.h"
#include "perceiver/kernels/attention/few_keys_gradient_sm80.h"
#include "perceiver/kernels/attention/few_keys_gradient_sm90.h"
#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/cuda/tma_map.h"

namespace perceiver {
namespace resident {
namespace {

template <int F, int V>
struct Channels {};

// Calls f with the channels of the case, where there is a kernel for them.
template <typename Function>
bool with_channels(const ResidentAttention& a, Function f) {
  static_assert(kChannels.size() == 6, "and the lines below");
  const auto take = [&]<int F, int V>(Channels<F, V> channels) {
    static_assert(has_channels(F, V));
    if (a.qk_channels != F || a.v_channels != V) return false;
    f(channels);
    return true;
  };
  return take(Channels<16, 16>()) || take(Channels<16, 32>()) || take(Channels<32, 32>()) ||
         take(Channels<32, 96>()) || take(Channels<32, 160>()) || take(Channels<64, 64>());
}

size_t room() {
  return static_cast<size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}
int multiprocessors() { return device_attribute(cudaDevAttrMultiProcessorCount); }

int heads_of(const ResidentAttention& a) { return a.heads * a.batch; }

template <typename T, int F, int V, int kRowGroups>
cudaError_t start_forward(const ResidentAttention& a, cudaStream_t stream) {
  using Memory = ForwardMemory<F, V, kRowGroups>;
  const dim3 blocks(Memory::query_blocks(a.queries), a.heads, a.batch);
  // No two to a multiprocessor where there is one for each: blocks that come early would share
  // those that the kernel before has left free.
  const size_t alone = room() / 2 + 1;
  const bool spread = static_cast<int>(blocks.x) * heads_of(a) <= multiprocessors();
  const size_t bytes = Memory::bytes(a.keys);
  return start_early(attend_kernel<T, F, V, kRowGroups>,
                     {blocks, dim3(kThreads), spread ? std::max(bytes, alone) : bytes, stream}, a);
}

HeadRows as_rows(const NewHeadRows& x) { return {x.data, x.batch, x.head, x.row}; }

cudaError_t make_map(const ResidentAttention& a, const HeadRows& x, int rows, int channels,
                     CUtensorMap* map) {
  return make_copy_map<4>({.bfloat16 = a.bfloat16,
                           .data = x.data,
                           .sizes = {channels, rows, a.heads, x.batch == 0 ? 1 : a.batch},
                           .strides = {x.row, x.head, x.batch},
                           .box = {32, kTileRows, 1, 1}},
                          map);
}

// A block has as many queries as there can be, or half of that where all are done earlier so.
template <int F, int V>
HopperForwardMemory<F, V> hopper_memory(const ResidentAttention& a) {
  const auto memory_of = [&](int query_tiles) {
    return HopperForwardMemory<F, V>(query_tiles, a.keys);
  };
  const auto time_of = [&](int query_tiles) {
    const int works = heads_of(a) * memory_of(query_tiles).query_blocks(a.queries);
    return (works + multiprocessors() - 1) / multiprocessors() * query_tiles;
  };
  const int most = std::min(kMostQueryTiles, (a.queries + kTileRows - 1) / kTileRows);
  const int half = (most + 1) / 2;
  return memory_of(time_of(half) < time_of(most) ? half : most);
}

template <typename T, int F, int V>
cudaError_t start_hopper_forward(const ResidentAttention& a, cudaStream_t stream) {
  HopperForward<F, V> args{.a = a, .maps = {}, .at = hopper_memory<F, V>(a)};
  cudaError_t error = make_map(a, a.q, a.queries, F, &args.maps.q);
  if (error == cudaSuccess) error = make_map(a, a.k, a.keys, F, &args.maps.k);
  if (error == cudaSuccess) error = make_map(a, a.v, a.keys, V, &args.maps.v);
  if (error == cudaSuccess) error = make_map(a, as_rows(a.out), a.queries, V, &args.maps.out);
  if (error != cudaSuccess) return error;
  const int works = heads_of(a) * args.at.query_blocks(a.queries);
  const int blocks = std::min(works, multiprocessors());
  if (works > blocks) args.at.grow(room());
  const int threads = forward_threads(args.at.warpgroups);
  return start_early(hopper_attend_kernel<T, F, V>,
                     {dim3(blocks), dim3(threads), args.at.bytes(), stream}, args);
}

// The copy engine goes by strides that are not 0, but for the queries' examples.
bool map_takes(const ResidentAttention& a, const HeadRows& x, int rows) {
  return (x.head != 0 || a.heads == 1) && (x.row != 0 || rows == 1) &&
         (x.batch != 0 || a.batch == 1);
}
bool maps_take(const ResidentAttention& a) {
  HeadRows q = a.q;
  if (q.batch == 0) q.batch = 1;
  return map_takes(a, q, a.queries) && map_takes(a, a.k, a.keys) && map_takes(a, a.v, a.keys);
}

// Where products are most of the work and there are more heads than half the multiprocessors.
template <int F, int V>
bool hopper_forward_pays(const ResidentAttention& a) {
  const HopperForwardMemory<F, V> memory = hopper_memory<F, V>(a);
  return is_hopper() && memory.bytes() <= room() && maps_take(a) &&
         2 * heads_of(a) * memory.query_blocks(a.queries) > multiprocessors();
}

template <typename T, int F, int V>
cudaError_t choose_forward(const ResidentAttention& a, cudaStream_t stream) {
  // As few queries a block as keep every multiprocessor at one block.
  const int most = multiprocessors() / heads_of(a);
  const auto fits = [&](int row_groups) { return a.queries <= 16 * row_groups * most; };
  if (fits(1)) return start_forward<T, F, V, 1>(a, stream);
  if (fits(2)) return start_forward<T, F, V, 2>(a, stream);
  if (fits(4)) return start_forward<T, F, V, 4>(a, stream);
  if constexpr (F % 32 == 0 && V % 32 == 0 && V >= 96) {
    if (hopper_forward_pays<F, V>(a)) return start_hopper_forward<T, F, V>(a, stream);
  }
  return start_forward<T, F, V, kWarps>(a, stream);
}

template <typename T, int F, int V>
cudaError_t start_hopper_gradient(const ResidentAttention& a, const ResidentGradients& g,
                                  const HopperGradientMemory<F, V>& at, cudaStream_t stream) {
  HopperGradientArguments<F, V> args{.a = a, .g = g, .maps = {}, .at = at};
  cudaError_t error = make_map(a, a.q, a.queries, F, &args.maps.q);
  if (error == cudaSuccess) error = make_map(a, a.k, a.keys, F, &args.maps.k);
  if (error == cudaSuccess) error = make_map(a, a.v, a.keys, V, &args.maps.v);
  if (error == cudaSuccess) error = make_map(a, g.d_out, a.queries, V, &args.maps.d_out);
  if (error == cudaSuccess) error = make_map(a, as_rows(g.dk), a.keys, F, &args.maps.dk);
  if (error == cudaSuccess) error = make_map(a, as_rows(g.dv), a.keys, V, &args.maps.dv);
  if (error != cudaSuccess) return error;
  return start_early(hopper_gradient_kernel<T, F, V>,
                     {dim3(a.heads, a.batch), dim3(kGradientThreads), at.bytes(), stream}, args);
}

template <int F, int V>
cudaError_t choose_gradient(const ResidentAttention& a, const ResidentGradients& g,
                            cudaStream_t stream) {
  using T = __nv_bfloat16;
  if constexpr (F % 32 == 0 && V % 32 == 0) {
    const HopperGradientMemory<F, V> at(a.queries, a.keys);
    // Of few channels and keys, two heads fit a multiprocessor with the other kernel.
    if (is_hopper() && at.bytes() <= room() && (V >= 64 || a.keys > kPassKeys) && maps_take(a) &&
        map_takes(a, g.d_out, a.queries) && map_takes(a, as_rows(g.dk), a.keys) &&
        map_takes(a, as_rows(g.dv), a.keys)) {
      return start_hopper_gradient<T>(a, g, at, stream);
    }
  }
  const size_t bytes = GradientMemory<F, V>::bytes(a.queries, a.keys);
  return start_early(gradient_kernel<T, F, V>,
                     {dim3(a.heads, a.batch), dim3(kThreads), bytes, stream}, a, g);
}

}  // namespace
}  // namespace resident

const char* attention_resident_refusal(const ResidentAttention& a, bool with_gradients) {
  if (with_gradients && !a.bfloat16) return "has gradients in bfloat16 alone";
  return few_keys_refusal(current_gpu(),
                          {.batch = a.batch,
                           .heads = a.heads,
                           .queries = a.queries,
                           .keys = a.keys,
                           .qk_channels = a.qk_channels,
                           .v_channels = a.v_channels},
                          with_gradients);
}

cudaError_t attention_resident(const ResidentAttention& a, cudaStream_t stream) {
  using namespace resident;
  cudaError_t error = cudaErrorInvalidValue;
  if (a.batch == 0 || a.heads == 0) return cudaSuccess;
  with_channels(a, [&]<int F, int V>(Channels<F, V>) {
    error = a.bfloat16 ? choose_forward<__nv_bfloat16, F, V>(a, stream)
                       : choose_forward<__half, F, V>(a, stream);
  });
  return error;
}

cudaError_t attention_resident_gradients(const ResidentAttention& a, const ResidentGradients& g,
                                         cudaStream_t stream) {
  using namespace resident;
  cudaError_t error = cudaErrorInvalidValue;
  if (a.batch == 0 || a.heads == 0) return cudaSuccess;
  with_channels(a,
                [&]<int F, int V>(Channels<F, V>) { error = choose_gradient<F, V>(a, g, stream); });
  return error;
}

}  // namespace perceiver
