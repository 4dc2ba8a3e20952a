// The backward kernel of few_keys.h. For .cu files only.
#pragma once

#include <cmath>
#include <numbers>

#include "perceiver/kernels/attention/few_keys.h"
#include "perceiver/kernels/attention/few_keys_rows.h"
#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/pack.h"

namespace perceiver::resident {

// Queries [N, F], keys [M, F], the output's gradient [N, V], the values of a pass's keys, the score
// gradients of a block of queries turned [keys of a pass, queries at once], twice, log-sums and
// means of the queries [N], and the queries' gradient as it stands after a pass [N, F].
template <int F, int V>
struct GradientMemory {
  static constexpr int kKeyRow = F + kGap, kValueRow = V + kGap;
  static constexpr int kTurnedRow = kQueriesAtOnce + kGap;
  static constexpr int kTurned = kKeysOfPass * kTurnedRow;

  __host__ __device__ static int query_rows(int queries) {
    return rounded_up(queries, kQueriesAtOnce);
  }
  __host__ __device__ static int key_rows(int keys) { return rounded_up(keys, kKeysOfPass); }
  static size_t bytes(int queries, int keys) {
    return gradient_bytes({.queries = queries, .keys = keys, .qk_channels = F, .v_channels = V});
  }
};

// What every query of a head loses to its softmax: its log-sum in powers of two, and the mean of
// its weights' gains, the product of the output and its gradient. Four lanes a row.
template <int V, typename T>
__device__ void load_query_figures(float* log_sums, float* means, const ResidentAttention& a,
                                   const ResidentGradients& g, const T* out, const T* d_out,
                                   const float* log_sum_exp, int padded) {
  const int part = threadIdx.x % 4;
  for (int row = threadIdx.x / 4; row < padded; row += kThreads / 4) {
    float sum = 0.0f;
    if (row < a.queries) {
#pragma unroll
      for (int c = part; c < V / 8; c += 4) {
        float x[8], y[8];
        load_pack(out + row * g.out.row + c * 8, x);
        load_pack(d_out + row * g.d_out.row + c * 8, y);
#pragma unroll
        for (int j = 0; j < 8; ++j) sum += x[j] * y[j];
      }
    }
    sum = quad_sum(sum);
    if (part != 0) continue;
    // A query that is not there, or has no key, has no weights either: two to the minus infinity.
    const float log_sum = row < a.queries ? log_sum_exp[row] : -INFINITY;
    log_sums[row] = log_sum == -INFINITY ? INFINITY : log_sum * std::numbers::log2e_v<float>;
    means[row] = sum;
  }
}

// sums [16 queries, 8 channels] of dS K over the keys of a pass.
template <int F, int V, typename T>
__device__ void query_gradient(float (&sums)[4], const T* turned, const T* keys, int half,
                               int tile) {
  using Memory = GradientMemory<F, V>;
  const int lane = threadIdx.x % 32;
  float more[4] = {};  // a second chain of sums, so that one need not wait for the other
#pragma unroll
  for (int k = 0; k < kKeysOfPass / 16; k += 2) {
    uint32_t a[4], b[4];
    load_turned_matrices(b, keys + (k * 16 + lane) * Memory::kKeyRow + tile * 8);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      load_turned_matrices(a, turned + (k + i) * 16 * Memory::kTurnedRow + half * 16 +
                                  matrices_across(lane, Memory::kTurnedRow));
      multiply_add<T>(i == 0 ? sums : more, a, b[2 * i], b[2 * i + 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) sums[i] += more[i];
}

// grid [H, B]. Scores are held turned, keys down and queries across: then the weights and their
// gradients are factors, as they lie, of the products that sum over queries. Each warp has sixteen
// keys of a pass and goes through all queries.
template <typename T, int F, int V>
__global__ void __launch_bounds__(kThreads, V >= 64 ? 1 : 2)
    gradient_kernel(const ResidentAttention a, const ResidentGradients g) {
  using Memory = GradientMemory<F, V>;
  constexpr int kQueryTiles = kQueriesAtOnce / 8;
  extern __shared__ uint4 shared_memory[];
  const HeadPlace of{static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x)};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int query_rows = Memory::query_rows(a.queries), key_rows = Memory::key_rows(a.keys);
  T* const queries = reinterpret_cast<T*>(shared_memory);
  T* const keys = queries + query_rows * Memory::kKeyRow;
  T* const gains = keys + key_rows * Memory::kKeyRow;
  T* const values = gains + query_rows * Memory::kValueRow;
  T* turned = values + kKeysOfPass * Memory::kValueRow;
  float* const log_sums = reinterpret_cast<float*>(turned + 2 * Memory::kTurned);
  float* const means = log_sums + query_rows;
  float* const unfinished = means + query_rows;

  let_next_kernel_come();
  wait_for_kernels_before();
  copy_rows<F>(queries, rows_of<T>(a.q, of), a.q.row, a.queries, query_rows);
  copy_rows<F>(keys, rows_of<T>(a.k, of), a.k.row, a.keys, key_rows);
  copy_rows<V>(gains, rows_of<T>(g.d_out, of), g.d_out.row, a.queries, query_rows);
  const auto copy_values = [&](int pass) {
    copy_rows<V>(values, rows_of<T>(a.v, of) + pass * a.v.row, a.v.row, a.keys - pass, kKeysOfPass);
  };
  copy_values(0);
  load_query_figures<V>(log_sums, means, a, g, rows_of<T>(g.out, of), rows_of<T>(g.d_out, of),
                        figures_of(g.log_sum_exp, a, of), query_rows);
  wait_for_copies();
  __syncthreads();

  const uint8_t* const mask = mask_of(a, of);
  const auto is_open = [&](int key) { return key < a.keys && (mask == nullptr || mask[key] != 0); };
  const float scale = a.scale * std::numbers::log2e_v<float>;
  T* other_turned = turned + Memory::kTurned;
  for (int pass = 0; pass < key_rows; pass += kKeysOfPass) {
    const int first = pass + warp * 16;
    const bool low_open = is_open(first + lane / 4), high_open = is_open(first + lane / 4 + 8);
    uint32_t k[F / 16][4], v[V / 16][4];
#pragma unroll
    for (int c = 0; c < F / 16; ++c) {
      load_matrices(k[c],
                    keys + first * Memory::kKeyRow + c * 16 + matrices_down(lane, Memory::kKeyRow));
    }
#pragma unroll
    for (int c = 0; c < V / 16; ++c) {
      load_matrices(v[c], values + warp * 16 * Memory::kValueRow + c * 16 +
                              matrices_down(lane, Memory::kValueRow));
    }
    if (pass + kKeysOfPass < key_rows) {
      __syncthreads();  // all have theirs: the next pass's may come
      copy_values(pass + kKeysOfPass);
    }
    float dk[F / 8][4] = {}, dv[V / 8][4] = {};
    for (int begin = 0; begin < query_rows; begin += kQueriesAtOnce) {
      float p[kQueryTiles][4] = {}, ds[kQueryTiles][4] = {};
      multiply_rows<F>(p, k, queries + begin * Memory::kKeyRow);
      multiply_rows<V>(ds, v, gains + begin * Memory::kValueRow);
#pragma unroll
      for (int n = 0; n < kQueryTiles; ++n) {
        const int query = begin + n * 8 + lane % 4 * 2;
        const float2 log_sum = *reinterpret_cast<const float2*>(log_sums + query);
        const float2 mean = *reinterpret_cast<const float2*>(means + query);
        p[n][0] = low_open ? power_of_two(p[n][0] * scale - log_sum.x) : 0.0f;
        p[n][1] = low_open ? power_of_two(p[n][1] * scale - log_sum.y) : 0.0f;
        p[n][2] = high_open ? power_of_two(p[n][2] * scale - log_sum.x) : 0.0f;
        p[n][3] = high_open ? power_of_two(p[n][3] * scale - log_sum.y) : 0.0f;
        ds[n][0] = p[n][0] * (ds[n][0] - mean.x) * a.scale;
        ds[n][1] = p[n][1] * (ds[n][1] - mean.y) * a.scale;
        ds[n][2] = p[n][2] * (ds[n][2] - mean.x) * a.scale;
        ds[n][3] = p[n][3] * (ds[n][3] - mean.y) * a.scale;
      }
#pragma unroll
      for (int j = 0; j < kQueryTiles / 2; ++j) {
        uint32_t weights[4], gradients[4];
        round_to_factors<T>(weights, p[2 * j], p[2 * j + 1]);
        round_to_factors<T>(gradients, ds[2 * j], ds[2 * j + 1]);
        auto* const row = reinterpret_cast<uint32_t*>(
            turned + (warp * 16 + lane / 4) * Memory::kTurnedRow + j * 16 + lane % 4 * 2);
        row[0] = gradients[0], row[4] = gradients[2];
        row[8 * Memory::kTurnedRow / 2] = gradients[1];
        row[8 * Memory::kTurnedRow / 2 + 4] = gradients[3];
#pragma unroll
        for (int n = 0; n < F / 8; n += 2) {
          uint32_t b[4];
          load_turned_matrices(b, queries + (begin + j * 16) * Memory::kKeyRow + n * 8 +
                                      matrices_down(lane, Memory::kKeyRow));
          multiply_add<T>(dk[n], gradients, b[0], b[1]);
          multiply_add<T>(dk[n + 1], gradients, b[2], b[3]);
        }
#pragma unroll
        for (int n = 0; n < V / 8; n += 2) {
          uint32_t b[4];
          load_turned_matrices(b, gains + (begin + j * 16) * Memory::kValueRow + n * 8 +
                                      matrices_down(lane, Memory::kValueRow));
          multiply_add<T>(dv[n], weights, b[0], b[1]);
          multiply_add<T>(dv[n + 1], weights, b[2], b[3]);
        }
      }
      __syncthreads();
      // Two blocks' score gradients are kept: a warp may be one barrier ahead of another.
      for (int tile = warp; tile < kQueriesAtOnce / 16 * (F / 8); tile += kWarps) {
        const int half = tile % 2, channels = tile / 2;
        float dq[1][4] = {};
        float* const slot = unfinished + begin * F + (tile * 32 + lane) * 4;  // of this lane alone
        if (pass > 0) {
          const float4 before = *reinterpret_cast<const float4*>(slot);
          dq[0][0] = before.x, dq[0][1] = before.y, dq[0][2] = before.z, dq[0][3] = before.w;
        }
        query_gradient<F, V>(dq[0], turned, keys + pass * Memory::kKeyRow, half, channels);
        if (pass + kKeysOfPass < key_rows) {
          *reinterpret_cast<float4*>(slot) = make_float4(dq[0][0], dq[0][1], dq[0][2], dq[0][3]);
        } else {
          store_rows(rows_of<T>(g.dq, of) + channels * 8, g.dq.row, begin + half * 16, a.queries,
                     dq, 1.0f, 1.0f);
        }
      }
      T* const swapped = turned;
      turned = other_turned, other_turned = swapped;
    }
    store_rows(rows_of<T>(g.dk, of), g.dk.row, first, a.keys, dk, 1.0f, 1.0f);
    store_rows(rows_of<T>(g.dv, of), g.dv.row, first, a.keys, dv, 1.0f, 1.0f);
    wait_for_copies();
    __syncthreads();
  }
}

}  // namespace perceiver::resident
