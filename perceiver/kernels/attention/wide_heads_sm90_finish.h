// The end of a work of attention_hopper: a warpgroup writes outputs [64, F] and their
// log-sum-exp, or, where keys are split, sums, largest scores and totals as they are.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/wide_heads_sm90_store.h"

namespace perceiver::hopper {

// `row` is the first of the thread's two; the other is eight rows on.
template <class Tile>
__device__ __forceinline__ void finish_split(const KernelArguments& args, const AttentionWork& work,
                                             int row, const ValueSums<Tile>& sums,
                                             const RunningSoftmax& softmax) {
  const int64_t first = (static_cast<int64_t>(work.split) * args.batch + work.batch) * args.queries;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x % 4 == 0 && row + 8 * i < args.queries) {
      args.partial_totals[first + row + 8 * i] = make_float2(softmax.top[i], softmax.total[i]);
    }
  }
  const OutputRows<float> rows(args.partial_sums + first * args.channels, args.channels, row,
                               args.queries);
  store_partial<8 * Tile::kWide>(sums.wide, 0, args.channels, rows);
  store_partial<kNarrowValues / 8>(sums.narrow, 64 * Tile::kWide, args.channels, rows);
}

template <class Tile>
__device__ __forceinline__ void finish(const KernelArguments& args, const AttentionWork& work,
                                       int row, const ValueSums<Tile>& sums,
                                       RunningSoftmax& softmax) {
  using T = typename Tile::Element;
#pragma unroll
  for (int i = 0; i < 2; ++i) softmax.total[i] = quad_sum(softmax.total[i]);
  if (args.partial_sums != nullptr) {
    finish_split<Tile>(args, work, row, sums, softmax);
    return;
  }
  float factor[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    factor[i] = softmax.total[i] > 0.0f ? 1.0f / softmax.total[i] : 0.0f;
    if (args.log_sum_exp == nullptr || threadIdx.x % 4 != 0 || row + 8 * i >= args.queries)
      continue;
    args.log_sum_exp[static_cast<int64_t>(work.batch) * args.queries + row + 8 * i] =
        log_sum_exp(softmax.top[i], softmax.total[i], args.scale_log2);
  }
  const OutputRows<T> rows(static_cast<T*>(args.out) + work.batch * args.out_batch, args.out_row,
                           row, args.queries);
  store<T, 8 * Tile::kWide>(sums.wide, factor, 0, args.channels, rows);
  store<T, kNarrowValues / 8>(sums.narrow, factor, 64 * Tile::kWide, args.channels, rows);
}

}  // namespace perceiver::hopper
