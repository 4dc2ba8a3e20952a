#include <algorithm>

#include "perceiver/kernels/cuda/attention_resident.h"
#include "perceiver/kernels/cuda/attention_resident_forward.h"
#include "perceiver/kernels/cuda/attention_resident_forward_hopper.h"
#include "perceiver/kernels/cuda/attention_resident_gradient.h"
#include "perceiver/kernels/cuda/attention_resident_gradient_hopper.h"
#include "perceiver/kernels/cuda/copy_map.h"
#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/cuda/kernel_order.h"

namespace perceiver {
namespace resident {
namespace {

template <int F, int V>
struct Channels {};

// Calls f with the channels of the case, where there is a kernel for them.
template <typename Function>
bool with_channels(const ResidentAttention& a, Function f) {
  const auto take = [&]<int F, int V>(Channels<F, V> channels) {
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

struct Launch {
  dim3 blocks;
  int threads;
  size_t bytes;
  cudaStream_t stream;
};

template <typename Kernel, typename... Arguments>
cudaError_t start(Kernel kernel, const Launch& launch, const Arguments&... arguments) {
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.bytes));
  if (error != cudaSuccess) return error;
  kernel<<<launch.blocks, launch.threads, launch.bytes, launch.stream>>>(arguments...);
  return cudaGetLastError();
}

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

struct Rows {
  const void* data;
  int64_t batch, head, row;
};
bool is_on_16_bytes(const Rows& x) {
  return (reinterpret_cast<uintptr_t>(x.data) | 2 * (x.batch | x.head | x.row)) % 16 == 0;
}

cudaError_t make_map(const ResidentAttention& a, const Rows& x, int rows, int channels,
                     CUtensorMap* map) {
  return make_copy_map<4>({.bfloat16 = a.bfloat16,
                           .data = x.data,
                           .sizes = {channels, rows, a.heads, x.batch == 0 ? 1 : a.batch},
                           .strides = {x.row, x.head, x.batch},
                           .box = {32, kTileRows, 1, 1}},
                          map);
}
cudaError_t make_maps(const ResidentAttention& a, const Rows& out, HopperForwardMaps* maps) {
  const auto make = [&](const Rows& x, int rows, int channels, CUtensorMap* map) {
    return make_map(a, x, rows, channels, map);
  };
  const auto rows_of = [](const HeadRows& x) { return Rows{x.data, x.batch, x.head, x.row}; };
  cudaError_t error = make(rows_of(a.q), a.queries, a.qk_channels, &maps->q);
  if (error == cudaSuccess) error = make(rows_of(a.k), a.keys, a.qk_channels, &maps->k);
  if (error == cudaSuccess) error = make(rows_of(a.v), a.keys, a.v_channels, &maps->v);
  if (error != cudaSuccess || out.data == nullptr) return error;
  return make(out, a.queries, a.v_channels, &maps->out);
}

template <typename T, int F, int V>
cudaError_t start_hopper_forward(const ResidentAttention& a, cudaStream_t stream) {
  HopperForward<F, V> args{
      .a = a, .maps = {}, .at = {a.queries, a.keys}, .buffers = 1, .staged = false};
  const Rows out = {a.out.data, a.out.batch, a.out.head, a.out.row};
  args.staged = args.at.tiles >= args.at.warpgroups && is_on_16_bytes(out);
  const cudaError_t error = make_maps(a, args.staged ? out : Rows{}, &args.maps);
  if (error != cudaSuccess) return error;
  const int works = heads_of(a) * args.at.query_blocks(a.queries);
  const int blocks = std::min(works, multiprocessors());
  if (works > blocks && args.at.bytes(2) <= room()) args.buffers = 2;
  return start_early(
      hopper_attend_kernel<T, F, V>,
      {dim3(blocks), dim3(128 * args.at.warpgroups), args.at.bytes(args.buffers), stream}, args);
}

// The copy engine goes by strides that are not 0, but for the queries' examples.
bool maps_take(const ResidentAttention& a) {
  const auto moves = [&](const HeadRows& x, int rows) {
    return (x.head != 0 || a.heads == 1) && (x.row != 0 || rows == 1);
  };
  return moves(a.q, a.queries) && moves(a.k, a.keys) && moves(a.v, a.keys) &&
         (a.batch == 1 || (a.k.batch != 0 && a.v.batch != 0));
}

// Where products are most of the work and there are more heads than half the multiprocessors.
template <int F, int V>
bool hopper_forward_pays(const ResidentAttention& a) {
  const HopperForwardMemory<F, V> memory(a.queries, a.keys);
  return is_hopper() && memory.bytes(1) <= room() && maps_take(a) &&
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

template <int F, int V>
cudaError_t choose_gradient(const ResidentAttention& a, const ResidentGradients& g,
                            cudaStream_t stream) {
  using T = __nv_bfloat16;
  const dim3 blocks(a.heads, a.batch);
  if constexpr (F % 32 == 0 && V % 32 == 0) {
    const size_t bytes = HopperGradientMemory<F, V>(a.queries, a.keys).end;
    // Of few channels and keys, two heads fit a multiprocessor with the other kernel.
    if (is_hopper() && bytes <= room() && (V >= 64 || a.keys > kPassKeys)) {
      return start(hopper_gradient_kernel<T, F, V>, {blocks, kGradientThreads, bytes, stream}, a,
                   g);
    }
  }
  const size_t bytes = GradientMemory<F, V>::bytes(a.queries, a.keys);
  return start(gradient_kernel<T, F, V>, {blocks, kThreads, bytes, stream}, a, g);
}

}  // namespace
}  // namespace resident

const char* attention_resident_refusal(const ResidentAttention& a, bool with_gradients) {
  using namespace resident;
  if (with_gradients && !a.bfloat16) return "has gradients in bfloat16 alone";
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
    return "needs a GPU of sm_80 or later";
  if (a.queries < 1 || a.keys < 1) return "needs queries and keys";
  if (a.batch > 65535 || a.heads > 65535) return "takes at most 65,535 examples and heads";
  size_t bytes = 0;
  const bool known = with_channels(a, [&]<int F, int V>(Channels<F, V>) {
    bytes = with_gradients ? GradientMemory<F, V>::bytes(a.queries, a.keys)
                           : ForwardMemory<F, V, kWarps>::bytes(a.keys);
  });
  if (!known) return "has no kernel for these channels of a head";
  return bytes > room() ? "needs a head's rows to fit shared memory" : nullptr;
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
