#include <algorithm>
#include <numbers>

#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/attention/wide_heads_sm90.h"
#include "perceiver/kernels/attention/wide_heads_sm90_kernel.h"
#include "perceiver/kernels/attention/wide_heads_sm90_sum.h"
#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/device.h"

namespace perceiver {
namespace hopper {
namespace {

int multiprocessors() { return device_attribute(cudaDevAttrMultiProcessorCount); }

bool rows_are_aligned(const void* data, int64_t row, int64_t batch) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && row % 8 == 0 && batch % 8 == 0;
}

bool keys_are_values(const HopperAttention& a) {
  return a.k == a.v && a.k_row == a.v_row && a.qk_channels == a.v_channels &&
         (a.batch == 1 || a.k_batch == a.v_batch);
}

// All but the maps.
KernelArguments arguments_of(const HopperAttention& a, const SplitPlan& plan) {
  KernelArguments args{};
  args.out = a.out;
  args.log_sum_exp = a.log_sum_exp;
  args.kv_mask = a.kv_mask;
  args.out_row = a.out_row;
  args.out_batch = a.out_batch;
  args.mask_batch = a.mask_batch;
  args.batch = static_cast<int>(a.batch);
  args.queries = static_cast<int>(a.queries);
  args.keys = static_cast<int>(a.keys);
  args.channels = stored_channels(a);
  args.query_tiles = plan.query_tiles;
  args.tiles = plan.tiles;
  args.splits = plan.splits;
  args.per_split = plan.per_split;
  args.scale_log2 = a.scale * std::numbers::log2e_v<float>;
  if (plan.splits > 1) {
    args.partial_sums = static_cast<float*>(a.workspace);
    args.partial_totals = reinterpret_cast<float2*>(args.partial_sums + plan.sums(a));
  }
  return args;
}

template <class Tile>
cudaError_t start_tile(const HopperAttention& a, KernelArguments args, cudaStream_t stream) {
  const cudaError_t error = make_maps(a, kQueriesOfTile, Tile::kFetchedKeys, &args.maps);
  if (error != cudaSuccess) return error;
  constexpr int kTogether = Tile::kPaired ? 2 : 1;
  const int blocks = std::min(num_works(args), multiprocessors() / kTogether * kTogether);
  return start_early(attention_kernel<Tile>,
                     {.blocks = dim3(blocks),
                      .threads = dim3(kThreads),
                      .shared_bytes = Tile::kSharedBytes,
                      .stream = stream,
                      .cluster = kTogether},
                     args);
}

template <class T, int kWide, bool kSame>
cudaError_t start_wide(const HopperAttention& a, const KernelArguments& args, cudaStream_t stream) {
  return args.query_tiles % 2 == 0
             ? start_tile<AttentionTile<T, kWide, kSame, true>>(a, args, stream)
             : start_tile<AttentionTile<T, kWide, kSame, false>>(a, args, stream);
}

template <class T, int kWide>
cudaError_t start_wide(const HopperAttention& a, const KernelArguments& args, cudaStream_t stream) {
  return keys_are_values(a) ? start_wide<T, kWide, true>(a, args, stream)
                            : start_wide<T, kWide, false>(a, args, stream);
}

template <class T>
cudaError_t start(const HopperAttention& a, const KernelArguments& args, cudaStream_t stream) {
  return wide_columns_of(a) == 3 ? start_wide<T, 3>(a, args, stream)
                                 : start_wide<T, 4>(a, args, stream);
}

}  // namespace
}  // namespace hopper

const char* attention_hopper_refusal(const HopperAttention& a) {
  using hopper::rows_are_aligned;
  static_assert(hopper::kMostChannels == kMostHopperChannels && hopper::kMostSplits == 32);
  if (const char* refusal = wide_heads_refusal(current_gpu(), {.batch = a.batch,
                                                               .queries = a.queries,
                                                               .keys = a.keys,
                                                               .qk_channels = a.qk_channels,
                                                               .v_channels = a.v_channels})) {
    return refusal;
  }
  if (a.splits < 0 || a.splits > 32) return "splits keys in at most 32";
  if (!(a.scale > 0.0f)) return "needs a positive scale";
  if (!rows_are_aligned(a.q, a.q_row, a.q_batch) || !rows_are_aligned(a.k, a.k_row, a.k_batch) ||
      !rows_are_aligned(a.v, a.v_row, a.v_batch) ||
      !rows_are_aligned(a.out, a.out_row, a.out_batch)) {
    return "needs rows that start at multiples of 16 bytes";
  }
  if (a.out_row < hopper::stored_channels(a)) {
    return "needs rows of the output padded to eight channels";
  }
  return nullptr;
}

size_t attention_hopper_workspace(const HopperAttention& a) {
  return sizeof(float) * hopper::plan_splits(a, hopper::multiprocessors()).floats(a);
}

cudaError_t attention_hopper(const HopperAttention& a, cudaStream_t stream) {
  const hopper::SplitPlan plan = hopper::plan_splits(a, hopper::multiprocessors());
  const hopper::KernelArguments args = hopper::arguments_of(a, plan);
  const cudaError_t error = a.bfloat16 ? hopper::start<__nv_bfloat16>(a, args, stream)
                                       : hopper::start<__half>(a, args, stream);
  if (error != cudaSuccess || plan.splits == 1) return error;
  return hopper::sum_splits(a, plan, stream);
}

}  // namespace perceiver
