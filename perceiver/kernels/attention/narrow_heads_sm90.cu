#include <algorithm>
#include <cstdint>
#include <numbers>

#include "perceiver/kernels/attention/narrow_heads_sm90.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_kernel.h"
#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/device.h"

namespace perceiver {
namespace narrow {
namespace {

int blocks_of(int rows, int each) { return (rows + each - 1) / each; }

HeadSizes sizes_of(const NarrowAttention& a) {
  return {.batch = a.batch,
          .heads = a.heads,
          .queries = a.queries,
          .keys = a.keys,
          .qk_channels = a.channels,
          .v_channels = a.channels};
}

template <typename T, int C>
cudaError_t start(const NarrowAttention& a, cudaStream_t stream) {
  NarrowArguments args{.maps = {},
                       .a = a,
                       .scale_log2 = a.scale * std::numbers::log2e_v<float>,
                       .query_blocks = blocks_of(a.queries, kBlockQueries),
                       .works = static_cast<int>(works_of(sizes_of(a))),
                       .tiles = blocks_of(a.keys, kTileKeys)};
  const cudaError_t error = make_maps(a, kGroupQueries, kTileKeys, &args.maps);
  if (error != cudaSuccess) return error;
  const int blocks = std::min(args.works, device_attribute(cudaDevAttrMultiProcessorCount));
  return start_early(attend_kernel<T, C>,
                     {dim3(blocks), dim3(kThreads), NarrowTile<T, C>::kBytes, stream}, args);
}

template <typename T>
cudaError_t start(const NarrowAttention& a, cudaStream_t stream) {
  return a.channels == 32 ? start<T, 32>(a, stream) : start<T, 64>(a, stream);
}

}  // namespace
}  // namespace narrow

const char* attention_narrow_refusal(const NarrowAttention& a) {
  using namespace narrow;
  static_assert(kLeastKeys >= kTilesAhead<NarrowTile<__half, 32>> * kTileKeys);
  return narrow_heads_refusal(current_gpu(), sizes_of(a));
}

cudaError_t attention_narrow(const NarrowAttention& a, cudaStream_t stream) {
  if (narrow::works_of(narrow::sizes_of(a)) == 0) return cudaSuccess;
  return a.bfloat16 ? narrow::start<__nv_bfloat16>(a, stream) : narrow::start<__half>(a, stream);
}

}  // namespace perceiver
