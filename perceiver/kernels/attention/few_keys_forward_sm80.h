// The forward kernel of few_keys.h. For .cu files only.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "perceiver/kernels/attention/few_keys.h"
#include "perceiver/kernels/attention/few_keys_rows.h"
#include "perceiver/kernels/cuda/dependent_launch.h"

namespace perceiver::resident {

// Keys [M, F], values [M, V], and what is added to the scores of each key. A block has sixteen
// queries for each of its warps or, where there are few heads, for each group of them: then the
// warps of a group share the keys out, and leave their parts of the sums where keys and values
// were.
template <int F, int V, int kRowGroups>
struct ForwardMemory {
  static constexpr int kKeyRow = F + kGap, kValueRow = V + kGap, kPartRow = V + kGap;
  static constexpr int kQueriesOfBlock = 16 * kRowGroups, kKeyGroups = kWarps / kRowGroups;
  // Their scores and the sums are registers.
  static constexpr int kKeysAtOnce = V > 64 || kKeyGroups > 1 ? 32 : 64;

  static unsigned query_blocks(int queries) {
    return (queries + kQueriesOfBlock - 1) / kQueriesOfBlock;
  }
  __host__ __device__ static int rows(int keys) { return rounded_up(keys, 64); }
  static size_t bytes(int keys) {
    const size_t all = forward_bytes(F, V, keys);
    const size_t parts = kKeyGroups > 1 ? kWarps * 16 * (kPartRow + 2) * sizeof(float) : 0;
    return std::max(all, parts);
  }
};

// The factors of 16 rows [16, C] straight from global memory; rows from `count` on are zeros.
template <int C, typename T>
__device__ void load_factors(uint32_t (&to)[C / 16][4], const T* from, int64_t stride, int first,
                             int count) {
  const int lane = threadIdx.x % 32, low = first + lane / 4, high = low + 8;
#pragma unroll
  for (int c = 0; c < C / 16; ++c) {
    const int column = c * 16 + lane % 4 * 2;
    const auto pair = [&](int row, int at) {
      return row < count ? *reinterpret_cast<const uint32_t*>(from + row * stride + at) : 0u;
    };
    to[c][0] = pair(low, column), to[c][1] = pair(high, column);
    to[c][2] = pair(low, column + 8), to[c][3] = pair(high, column + 8);
  }
}

__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// The softmax of a row that a lane has a part of, as far as it has come: powers of two, from an
// origin that follows the largest score, though not at every step.
struct RunningRow {
  static constexpr float kFarAbove = 8.0f;
  float origin = -INFINITY, sum = 0.0f;

  __device__ bool is_left_behind(float largest) const { return largest > origin + kFarAbove; }

  // -> what the sums so far are multiplied with
  __device__ float move(float largest) {
    if (largest <= origin || largest == -INFINITY) return 1.0f;
    const float less = power_of_two(origin - largest);
    origin = largest;
    sum *= less;
    return less;
  }
  // Rows without any key so far must not give NaN.
  __device__ float start() const { return origin == -INFINITY ? 0.0f : origin; }
  // Of a row whose sum is complete, in natural units.
  __device__ float log_sum() const { return start() * std::numbers::ln2_v<float> + logf(sum); }
};

// 0 for a key that is there, and what makes its weight 0 for one that is not.
__device__ inline void set_offsets(float* offsets, const ResidentAttention& a, const HeadPlace& of,
                                   int rows, int thread, int threads) {
  const uint8_t* const mask = mask_of(a, of);
  for (int i = thread; i < rows; i += threads) {
    offsets[i] = i < a.keys && (mask == nullptr || mask[i] != 0) ? 0.0f : -INFINITY;
  }
}

// Scores [16, 8 * kTiles] of keys that are not there become minus infinity.
template <int kTiles>
__device__ __forceinline__ void hide(float (&s)[kTiles][4], const float* offsets) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    const float2 offset = *reinterpret_cast<const float2*>(offsets + n * 8 + threadIdx.x % 4 * 2);
    s[n][0] += offset.x, s[n][1] += offset.y;
    s[n][2] += offset.x, s[n][3] += offset.y;
  }
}

// What the origins of two rows have moved by: sums so far are multiplied with it.
struct RowMoves {
  bool any = false;  // of the warp's rows
  float low = 1.0f, high = 1.0f;
};

template <int kTiles>
__device__ __forceinline__ void follow(float (&sums)[kTiles][4], const RowMoves& moves) {
  if (!moves.any) return;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    sums[n][0] *= moves.low, sums[n][1] *= moves.low;
    sums[n][2] *= moves.high, sums[n][3] *= moves.high;
  }
}

// Scores [16, 8 * kTiles] of a warp's queries become weights.
template <int kTiles>
__device__ __forceinline__ RowMoves weigh(float (&s)[kTiles][4], RunningRow& low, RunningRow& high,
                                          float scale) {
  float most_low = -INFINITY, most_high = -INFINITY;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    most_low = fmaxf(most_low, fmaxf(s[n][0], s[n][1]));
    most_high = fmaxf(most_high, fmaxf(s[n][2], s[n][3]));
  }
  most_low *= scale, most_high *= scale;
  RowMoves moves;
  if (__any_sync(0xffffffffu, low.is_left_behind(most_low) || high.is_left_behind(most_high))) {
    moves = {true, low.move(quad_max(most_low)), high.move(quad_max(most_high))};
  }
  const float low_start = low.start(), high_start = high.start();
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
    s[n][0] = power_of_two(s[n][0] * scale - low_start);
    s[n][1] = power_of_two(s[n][1] * scale - low_start);
    s[n][2] = power_of_two(s[n][2] * scale - high_start);
    s[n][3] = power_of_two(s[n][3] * scale - high_start);
    low.sum += s[n][0] + s[n][1];
    high.sum += s[n][2] + s[n][3];
  }
  return moves;
}

// Sixteen queries of a warp, and what the keys that it has seen make of them.
template <typename T, int F, int V, int kRowGroups>
struct WarpQueries {
  using Memory = ForwardMemory<F, V, kRowGroups>;
  static constexpr int kScoreTiles = Memory::kKeysAtOnce / 8;
  using Scores = float[kScoreTiles][4];

  uint32_t q[F / 16][4];
  float sums[V / 8][4] = {};
  RunningRow low, high;

  __device__ void multiply_values(const Scores& s, const T* values) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < kScoreTiles / 2; ++k) {
      uint32_t weights[4];
      round_to_factors<T>(weights, s[2 * k], s[2 * k + 1]);
#pragma unroll
      for (int n = 0; n < V / 8; n += 2) {
        uint32_t b[4];
        load_turned_matrices(b, values + k * 16 * Memory::kValueRow + n * 8 +
                                    matrices_down(lane, Memory::kValueRow));
        multiply_add<T>(sums[n], weights, b[0], b[1]);
        multiply_add<T>(sums[n + 1], weights, b[2], b[3]);
      }
    }
  }
};

// What a row's sums are multiplied with when they are complete.
struct RowFactors {
  float low, high;
};

// Rows' sums become those of all keys.
__device__ inline RowFactors complete(RunningRow& low, RunningRow& high) {
  low.sum = quad_sum(low.sum), high.sum = quad_sum(high.sum);
  return {low.sum > 0.0f ? __frcp_rn(low.sum) : 0.0f, high.sum > 0.0f ? __frcp_rn(high.sum) : 0.0f};
}

// Of a warp's rows from `first` on, once they are complete.
__device__ inline void store_log_sums(const ResidentAttention& a, const HeadPlace& of, int first,
                                      const RunningRow& low, const RunningRow& high) {
  const int lane = threadIdx.x % 32, half = lane % 4, at = first + lane / 4 + half * 8;
  if (half > 1 || at >= a.queries) return;
  RunningRow row = low;
  if (half == 1) row = high;
  figures_of(a.log_sum_exp, a, of)[at] = row.log_sum();
}

template <typename T, int V>
__device__ void store_queries(const ResidentAttention& a, const HeadPlace& of, int first,
                              const float (&sums)[V / 8][4], RunningRow low, RunningRow high) {
  const RowFactors by = complete(low, high);
  store_log_sums(a, of, first, low, high);
  store_rows(rows_of<T>(a.out, of), a.out.row, first, a.queries, sums, by.low, by.high);
}

// The parts that warps have of the same queries, to one; sums over them are in the warps' order.
template <typename T, int F, int V, int kRowGroups>
__device__ void store_parts(const ResidentAttention& a, const HeadPlace& of,
                            const WarpQueries<T, F, V, kRowGroups>& mine, float* parts) {
  using Memory = ForwardMemory<F, V, kRowGroups>;
  constexpr int kRow = Memory::kPartRow, kRows = Memory::kQueriesOfBlock,
                kParts = Memory::kKeyGroups, kThreadsOfRow = kThreads / kRows;
  float* const origins = parts + kParts * kRows * kRow;
  float* const totals = origins + kParts * kRows;
  const auto put = [&](const RunningRow& row, int half) {
    const int lane = threadIdx.x % 32, at = threadIdx.x / 32 * 16 + half * 8 + lane / 4;
    const float total = quad_sum(row.sum);
    if (lane % 4 == 0) origins[at] = row.origin, totals[at] = total;
#pragma unroll
    for (int n = 0; n < V / 8; ++n) {
      *reinterpret_cast<float2*>(parts + at * kRow + n * 8 + lane % 4 * 2) =
          make_float2(mine.sums[n][2 * half], mine.sums[n][2 * half + 1]);
    }
  };
  __syncthreads();  // keys and values are no longer needed
  put(mine.low, 0);
  put(mine.high, 1);
  __syncthreads();

  const int row = threadIdx.x / kThreadsOfRow, query = blockIdx.x * kRows + row;
  if (query >= a.queries) return;
  RunningRow all;
  for (int i = 0; i < kParts; ++i) all.origin = fmaxf(all.origin, origins[i * kRows + row]);
  float factors[kParts];
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    factors[i] = power_of_two(origins[i * kRows + row] - all.start());
    all.sum += factors[i] * totals[i * kRows + row];
  }
  const float by = all.sum > 0.0f ? 1.0f / all.sum : 0.0f;
  T* const out = rows_of<T>(a.out, of) + query * a.out.row;
  for (int c = threadIdx.x % kThreadsOfRow * 2; c < V; c += kThreadsOfRow * 2) {
    float2 sum = {};
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const float2 more = *reinterpret_cast<const float2*>(parts + (i * kRows + row) * kRow + c);
      sum.x += factors[i] * more.x, sum.y += factors[i] * more.y;
    }
    *reinterpret_cast<uint32_t*>(out + c) = pack_pair<T>(sum.x * by, sum.y * by);
  }
  if (threadIdx.x % kThreadsOfRow == 0) figures_of(a.log_sum_exp, a, of)[query] = all.log_sum();
}

// grid [blocks of queries, H, B]
template <typename T, int F, int V, int kRowGroups>
__global__ void __launch_bounds__(kThreads, V <= 32 ? 3 : 2)
    attend_kernel(const ResidentAttention a) {
  using Memory = ForwardMemory<F, V, kRowGroups>;
  extern __shared__ uint4 shared_memory[];
  const HeadPlace of{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  const int rows = Memory::rows(a.keys), warp = threadIdx.x / 32;
  T* const keys = reinterpret_cast<T*>(shared_memory);
  T* const values = keys + rows * Memory::kKeyRow;
  float* const offsets = reinterpret_cast<float*>(values + rows * Memory::kValueRow);
  let_next_kernel_come();
  wait_for_kernels_before();

  copy_rows<F>(keys, rows_of<T>(a.k, of), a.k.row, a.keys, rows);
  copy_rows<V>(values, rows_of<T>(a.v, of), a.v.row, a.keys, rows);
  set_offsets(offsets, a, of, rows, threadIdx.x, kThreads);
  const int first = blockIdx.x * Memory::kQueriesOfBlock + warp % kRowGroups * 16;
  WarpQueries<T, F, V, kRowGroups> mine;
  load_factors<F>(mine.q, rows_of<T>(a.q, of), a.q.row, first, a.queries);
  wait_for_copies();
  __syncthreads();
  if (Memory::kKeyGroups == 1 && first >= a.queries) return;

  const float scale = a.scale * std::numbers::log2e_v<float>;
  constexpr int kStep = Memory::kKeysAtOnce;
  for (int begin = warp / kRowGroups * kStep; begin < a.keys; begin += Memory::kKeyGroups * kStep) {
    typename WarpQueries<T, F, V, kRowGroups>::Scores s = {};
    multiply_rows<F>(s, mine.q, keys + begin * Memory::kKeyRow);
    if (a.kv_mask != nullptr || begin + kStep > a.keys) hide(s, offsets + begin);
    follow(mine.sums, weigh(s, mine.low, mine.high, scale));
    mine.multiply_values(s, values + begin * Memory::kValueRow);
  }
  if constexpr (Memory::kKeyGroups > 1) {
    store_parts(a, of, mine, reinterpret_cast<float*>(shared_memory));
  } else {
    store_queries<T, V>(a, of, first, mine.sums, mine.low, mine.high);
  }
}

}  // namespace perceiver::resident
