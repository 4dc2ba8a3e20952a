// The forward kernel of attention_resident.h. For .cu files only.
#pragma once

#include <cmath>
#include <numbers>

#include "perceiver/kernels/cuda/attention_resident.h"
#include "perceiver/kernels/cuda/attention_resident_rows.h"

namespace perceiver::resident {

inline constexpr int kQueriesOfBlock = 16 * kWarps;  // each warp has sixteen

// Keys [M, F], values [M, V], and what is added to the scores of each key.
template <int F, int V>
struct ForwardMemory {
  static constexpr int kKeyRow = F + kGap, kValueRow = V + kGap;
  static constexpr int kKeysAtOnce = V > 64 ? 32 : 64;  // their scores and the sums are registers

  __host__ __device__ static int rows(int keys) { return rounded_up(keys, 64); }
  static size_t bytes(int keys) {
    return static_cast<size_t>(rows(keys)) * ((kKeyRow + kValueRow) * 2 + sizeof(float));
  }
};

template <typename T>
__device__ const T* rows_of_head(const HeadRows& x) {
  return static_cast<const T*>(x.data) + int64_t{blockIdx.z} * x.batch +
         int64_t{blockIdx.y} * x.head;
}

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
};

// grid [blocks of queries, H, B]
template <typename T, int F, int V>
__global__ void __launch_bounds__(kThreads, V <= 32 ? 3 : 2)
    attend_kernel(const ResidentAttention a) {
  using Memory = ForwardMemory<F, V>;
  constexpr int kKeysAtOnce = Memory::kKeysAtOnce, kScoreTiles = kKeysAtOnce / 8;
  extern __shared__ uint4 shared_memory[];
  const int rows = Memory::rows(a.keys), lane = threadIdx.x % 32;
  T* const keys = reinterpret_cast<T*>(shared_memory);
  T* const values = keys + rows * Memory::kKeyRow;
  float* const offsets = reinterpret_cast<float*>(values + rows * Memory::kValueRow);

  copy_rows<F>(keys, rows_of_head<T>(a.k), a.k.row, a.keys, rows);
  copy_rows<V>(values, rows_of_head<T>(a.v), a.v.row, a.keys, rows);
  const uint8_t* const mask = a.kv_mask ? a.kv_mask + int64_t{blockIdx.z} * a.keys : nullptr;
  for (int i = threadIdx.x; i < rows; i += kThreads) {
    offsets[i] = i < a.keys && (mask == nullptr || mask[i] != 0) ? 0.0f : -INFINITY;
  }
  const int first = blockIdx.x * kQueriesOfBlock + threadIdx.x / 32 * 16;
  uint32_t q[F / 16][4];
  load_factors<F>(q, rows_of_head<T>(a.q), a.q.row, first, a.queries);
  wait_for_copies();
  __syncthreads();
  if (first >= a.queries) return;

  const float scale = a.scale * std::numbers::log2e_v<float>;
  float sums[V / 8][4] = {};
  RunningRow low, high;
  for (int begin = 0; begin < a.keys; begin += kKeysAtOnce) {
    float s[kScoreTiles][4] = {};
#pragma unroll
    for (int c = 0; c < F / 16; ++c) {
#pragma unroll
      for (int n = 0; n < kScoreTiles; n += 2) {
        uint32_t b[4];
        load_matrices(b, keys + (begin + n * 8) * Memory::kKeyRow + c * 16 +
                             matrices_across(lane, Memory::kKeyRow));
        multiply_add<T>(s[n], q[c], b[0], b[1]);
        multiply_add<T>(s[n + 1], q[c], b[2], b[3]);
      }
    }
    float most_low = -INFINITY, most_high = -INFINITY;
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
      const float2 offset =
          *reinterpret_cast<const float2*>(offsets + begin + n * 8 + lane % 4 * 2);
      s[n][0] = s[n][0] * scale + offset.x, s[n][1] = s[n][1] * scale + offset.y;
      s[n][2] = s[n][2] * scale + offset.x, s[n][3] = s[n][3] * scale + offset.y;
      most_low = fmaxf(most_low, fmaxf(s[n][0], s[n][1]));
      most_high = fmaxf(most_high, fmaxf(s[n][2], s[n][3]));
    }
    most_low = quad_max(most_low), most_high = quad_max(most_high);
    if (__any_sync(0xffffffffu, low.is_left_behind(most_low) || high.is_left_behind(most_high))) {
      const float less_low = low.move(most_low), less_high = high.move(most_high);
#pragma unroll
      for (int n = 0; n < V / 8; ++n) {
        sums[n][0] *= less_low, sums[n][1] *= less_low;
        sums[n][2] *= less_high, sums[n][3] *= less_high;
      }
    }
    const float low_start = low.start(), high_start = high.start();
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
      s[n][0] = power_of_two(s[n][0] - low_start), s[n][1] = power_of_two(s[n][1] - low_start);
      s[n][2] = power_of_two(s[n][2] - high_start), s[n][3] = power_of_two(s[n][3] - high_start);
      low.sum += s[n][0] + s[n][1];
      high.sum += s[n][2] + s[n][3];
    }
#pragma unroll
    for (int k = 0; k < kScoreTiles / 2; ++k) {
      uint32_t weights[4];
      round_to_factors<T>(weights, s[2 * k], s[2 * k + 1]);
#pragma unroll
      for (int n = 0; n < V / 8; n += 2) {
        uint32_t b[4];
        load_turned_matrices(b, values + (begin + k * 16) * Memory::kValueRow + n * 8 +
                                    matrices_down(lane, Memory::kValueRow));
        multiply_add<T>(sums[n], weights, b[0], b[1]);
        multiply_add<T>(sums[n + 1], weights, b[2], b[3]);
      }
    }
  }
  low.sum = quad_sum(low.sum), high.sum = quad_sum(high.sum);
  T* const out = static_cast<T*>(a.out.data) + int64_t{blockIdx.z} * a.out.batch +
                 int64_t{blockIdx.y} * a.out.head;
  store_rows(out, a.out.row, first, a.queries, sums, low.sum > 0.0f ? 1.0f / low.sum : 0.0f,
             high.sum > 0.0f ? 1.0f / high.sum : 0.0f);
  if (a.log_sum_exp != nullptr && lane % 4 == 0) {
    float* const log_sums =
        a.log_sum_exp + (int64_t{blockIdx.z} * a.heads + blockIdx.y) * a.queries;
    constexpr float kLog2 = std::numbers::ln2_v<float>;
    const int row = first + lane / 4;
    if (row < a.queries) log_sums[row] = low.start() * kLog2 + logf(low.sum);
    if (row + 8 < a.queries) log_sums[row + 8] = high.start() * kLog2 + logf(high.sum);
  }
}

}  // namespace perceiver::resident
