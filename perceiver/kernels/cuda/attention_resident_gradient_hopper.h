// The backward kernel of attention_resident.h for Hopper, as attention_resident_gradient.h with the
// warpgroup's products. For .cu files only.
#pragma once

#include <cmath>
#include <numbers>

#include "perceiver/kernels/cuda/attention_resident.h"
#include "perceiver/kernels/cuda/attention_resident_wgmma.h"
#include "perceiver/kernels/cuda/pack.h"

namespace perceiver::resident {

// Two warpgroups have 64 keys of a pass each. Queries come in blocks of 64, the rows of a product
// for their gradient, and scores are computed for 32 of them at once.
inline constexpr int kGradientThreads = 256, kPassKeys = 128, kBlockQueries = 64;
inline constexpr int kScoreQueries = 32, kScoreTiles = kScoreQueries / 8;

// Queries [N, F], keys [M, F], the output's gradient [N, V], the values of a pass's keys, the score
// gradients of a block of queries turned [keys of a pass, queries], twice, all in columns; then
// log-sums and means of the queries [N], and the queries' gradient as it stands after a pass
// [N, F].
template <int F, int V>
struct HopperGradientMemory {
  static constexpr int kTurned = kPassKeys * kBlockQueries * 2;
  int query_rows, key_rows;
  uint32_t keys, gains, values, turned, log_sums, means, unfinished, end;  // queries are at 0

  __host__ __device__ HopperGradientMemory(int num_queries, int num_keys)
      : query_rows(rounded_up(num_queries, kBlockQueries)),
        key_rows(rounded_up(num_keys, kPassKeys)) {
    keys = query_rows * F * 2;
    gains = keys + key_rows * F * 2;
    values = gains + query_rows * V * 2;
    turned = values + kPassKeys * V * 2;
    log_sums = turned + 2 * kTurned;
    means = log_sums + query_rows * sizeof(float);
    unfinished = means + query_rows * sizeof(float);
    end = unfinished + (key_rows > kPassKeys ? query_rows * F * sizeof(float) : 0);
  }
};

// A thread's part of the output, a quarter of a row of a block of queries: it is asked for a block
// ahead, and multiplied with what the same thread copied of the output's gradient.
template <typename T, int V>
struct OutputQuarter {
  static constexpr int kPieces = V / 32;
  uint4 pieces[kPieces];

  __device__ static int row() { return threadIdx.x / 4; }

  __device__ void load(const T* out, int64_t stride, int begin, int count) {
    const int64_t at = begin + row();
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const T* const from = out + at * stride + (i * 4 + threadIdx.x % 4) * 8;
      pieces[i] = at < count ? *reinterpret_cast<const uint4*>(from) : uint4{};
    }
  }

  // The product of the row and of the output's gradient, for all four threads.
  __device__ float times(const uint8_t* gains, int rows, int begin) const {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      float x[8], y[8];
      load_pack(reinterpret_cast<const T*>(&pieces[i]), x);
      load_pack(reinterpret_cast<const T*>(gains +
                                           piece_at(rows, begin + row(), i * 4 + threadIdx.x % 4)),
                y);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum += x[j] * y[j];
    }
    return quad_sum(sum);
  }
};

// The factors of sixteen rows of columns, from `first` on.
template <int C>
__device__ __forceinline__ void load_column_factors(uint32_t (&to)[C / 16][4], uint32_t columns,
                                                    int rows, int first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int c = 0; c < C / 16; ++c) {
    load_matrices(to[c], columns + piece_at(rows, first + lane % 16, c * 2 + lane / 16));
  }
}

// Score gradients of a warp's sixteen keys and sixteen queries, turned, to their columns.
__device__ __forceinline__ void store_factors(uint32_t turned, int piece,
                                              const uint32_t (&factors)[4]) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane % 16;
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(
                   turned + piece_at(kPassKeys, row, piece + lane / 16)),
               "r"(factors[0]), "r"(factors[1]), "r"(factors[2]), "r"(factors[3])
               : "memory");
}

// A warpgroup's 64 keys of a pass: their values, the sums of their gradients, and the products
// with the 32 queries from `begin` on.
template <typename T, int F, int V>
struct KeyGradients {
  using Memory = HopperGradientMemory<F, V>;
  using Scores = float[kScoreTiles][4];
  uint32_t keys;  // where they lie
  uint32_t v[V / 16][4];
  float dk[F / 8][4], dv[V / 8][4];
  Scores p, ds;
  uint32_t weights[kScoreTiles / 2][4], gradients[kScoreTiles / 2][4];
  bool low_open, high_open;  // whether the thread's two keys are there

  __device__ __forceinline__ void open(const uint8_t* mask, int keys, int low) {
    const auto is_open = [&](int key) { return key < keys && (mask == nullptr || mask[key] != 0); };
    low_open = is_open(low), high_open = is_open(low + 8);
  }

  // Starts the scores and the gradients of the weights.
  __device__ __forceinline__ void start_scores(uint32_t base, const Memory& at, int begin) {
    const uint32_t rows = begin * kColumnRow;
    hopper::product_fence();
#pragma unroll
    for (int c = 0; c < F / 16; ++c) {
      multiply_columns<T, kScoreQueries, false>(p[0], channels_at(keys, at.key_rows, c),
                                                channels_at(base + rows, at.query_rows, c), c > 0);
    }
    hopper::product_commit();
#pragma unroll
    for (int c = 0; c < V / 16; ++c) {
      multiply_factors<T, kScoreQueries, false>(
          ds[0], v[c], channels_at(base + at.gains + rows, at.query_rows, c), c > 0);
    }
    hopper::product_commit();
  }

  __device__ __forceinline__ void start_values(uint32_t base, const Memory& at, int begin,
                                               int add) {
    hopper::product_fence();
#pragma unroll
    for (int j = 0; j < kScoreTiles / 2; ++j) {
      multiply_factors<T, V, true>(
          dv[0], weights[j],
          columns_at(base + at.gains + (begin + j * 16) * kColumnRow, at.query_rows * kColumnRow),
          j > 0 ? 1 : add);
    }
    hopper::product_commit();
  }

  __device__ __forceinline__ void start_keys(uint32_t base, const Memory& at, int begin, int add) {
    hopper::product_fence();
#pragma unroll
    for (int j = 0; j < kScoreTiles / 2; ++j) {
      multiply_factors<T, F, true>(
          dk[0], gradients[j],
          columns_at(base + (begin + j * 16) * kColumnRow, at.query_rows * kColumnRow),
          j > 0 ? 1 : add);
    }
    hopper::product_commit();
  }

  // Scores become weights; `log_sums` are those of the queries.
  __device__ __forceinline__ void weigh(const float* log_sums, float scale) {
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
      const float2 log_sum =
          *reinterpret_cast<const float2*>(log_sums + n * 8 + threadIdx.x % 4 * 2);
      p[n][0] = low_open ? power_of_two(p[n][0] * scale - log_sum.x) : 0.0f;
      p[n][1] = low_open ? power_of_two(p[n][1] * scale - log_sum.y) : 0.0f;
      p[n][2] = high_open ? power_of_two(p[n][2] * scale - log_sum.x) : 0.0f;
      p[n][3] = high_open ? power_of_two(p[n][3] * scale - log_sum.y) : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < kScoreTiles / 2; ++j) {
      round_to_factors<T>(weights[j], p[2 * j], p[2 * j + 1]);
    }
  }

  // Gradients of the weights become those of the scores, but for the scale.
  __device__ __forceinline__ void turn_back(const float* means) {
#pragma unroll
    for (int n = 0; n < kScoreTiles; ++n) {
      const float2 mean = *reinterpret_cast<const float2*>(means + n * 8 + threadIdx.x % 4 * 2);
      ds[n][0] = p[n][0] * (ds[n][0] - mean.x), ds[n][1] = p[n][1] * (ds[n][1] - mean.y);
      ds[n][2] = p[n][2] * (ds[n][2] - mean.x), ds[n][3] = p[n][3] * (ds[n][3] - mean.y);
    }
#pragma unroll
    for (int j = 0; j < kScoreTiles / 2; ++j) {
      round_to_factors<T>(gradients[j], ds[2 * j], ds[2 * j + 1]);
    }
  }
};

// A block's head: its arrays in shared memory, and how they come.
template <typename T, int F, int V>
struct HopperGradient {
  using Memory = HopperGradientMemory<F, V>;
  const ResidentAttention& a;
  const ResidentGradients& g;
  const HeadPlace of;
  const Memory at;
  uint8_t* const memory;
  const uint32_t base;
  OutputQuarter<T, V> output;

  __device__ int blocks() const { return at.query_rows / kBlockQueries; }
  __device__ float* floats(uint32_t offset) const {
    return reinterpret_cast<float*>(memory + offset);
  }

  __device__ void copy_block(int block) const {
    if (block >= blocks()) return;
    const int first = block * kBlockQueries;
    copy_to_columns<F>(base, at.query_rows, rows_of<T>(a.q, of), a.q.row, first, kBlockQueries,
                       a.queries);
    copy_to_columns<V>(base + at.gains, at.query_rows, rows_of<T>(g.d_out, of), g.d_out.row, first,
                       kBlockQueries, a.queries);
  }
  __device__ void copy_values(int pass) const {
    copy_to_columns<V>(base + at.values, kPassKeys, rows_of<T>(a.v, of) + pass * a.v.row, a.v.row,
                       0, kPassKeys, a.keys - pass);
  }
  __device__ __forceinline__ void load_output(int block) {
    output.load(rows_of<T>(g.out, of), g.out.row, block * kBlockQueries, a.queries);
  }
  // Once this thread's part of the block is there.
  __device__ __forceinline__ void store_means(int block) const {
    const int begin = block * kBlockQueries;
    const float mean = output.times(memory + at.gains, at.query_rows, begin);
    if (threadIdx.x % 4 == 0) floats(at.means)[begin + output.row()] = mean;
  }

  __device__ __forceinline__ void begin() {
    copy_to_columns<F>(base + at.keys, at.key_rows, rows_of<T>(a.k, of), a.k.row, 0, at.key_rows,
                       a.keys);
    copy_values(0);
    for (int block = 0; block < 3; ++block) {
      copy_block(block);
      end_group_of_copies();
    }
    load_output(0);
    const float* const log_sums = figures_of(g.log_sum_exp, a, of);
    for (int i = threadIdx.x; i < at.query_rows; i += kGradientThreads) {
      // A query that is not there, or has no key, has no weights: two to the minus infinity.
      const float log_sum = i < a.queries ? log_sums[i] : -INFINITY;
      floats(at.log_sums)[i] =
          log_sum == -INFINITY ? INFINITY : log_sum * std::numbers::log2e_v<float>;
    }
    wait_for_groups<2>();
    store_means(0);
    hopper::show_to_copy_engine();
    __syncthreads();
  }

  // dq [64 queries, F] (+)= dS K over the keys of a pass, by one warpgroup.
  __device__ __forceinline__ void add_to_queries(int pass, int block, uint32_t turned) const {
    const uint32_t keys = base + at.keys + pass * kColumnRow;
    const int first = block * kBlockQueries;
    auto* const slot = reinterpret_cast<float4*>(floats(at.unfinished) + first * F) +
                       threadIdx.x % 128;  // of this thread alone, every 128th
    float dq[F / 8][4];
    if (pass > 0) {
#pragma unroll
      for (int i = 0; i < F / 8; ++i) {
        const float4 before = slot[i * 128];
        dq[i][0] = before.x, dq[i][1] = before.y, dq[i][2] = before.z, dq[i][3] = before.w;
      }
    }
    hopper::product_fence();
#pragma unroll
    for (int i = 0; i < kPassKeys / 16; ++i) {
      const uint32_t rows = i * 16 * kColumnRow;
      multiply_columns<T, F, true>(dq[0], columns_at(turned + rows, kPassKeys * kColumnRow),
                                   columns_at(keys + rows, at.key_rows * kColumnRow),
                                   i > 0 ? 1 : pass > 0);
    }
    hopper::product_commit();
    hopper::product_wait<0>();
    hold_tiles(dq);
    if (pass + kPassKeys < at.key_rows) {
#pragma unroll
      for (int i = 0; i < F / 8; ++i) {
        slot[i * 128] = make_float4(dq[i][0], dq[i][1], dq[i][2], dq[i][3]);
      }
    } else {
      store_rows(rows_of<T>(g.dq, of), g.dq.row, first + threadIdx.x / 32 % 4 * 16, a.queries, dq,
                 a.scale, a.scale);
    }
  }

  __device__ __forceinline__ void add_queries(KeyGradients<T, F, V>& mine, int begin,
                                              uint32_t turned) const {
    mine.start_scores(base, at, begin);
    hopper::product_wait<1>();
    hold_tiles(mine.p);
    mine.weigh(floats(at.log_sums) + begin, a.scale * std::numbers::log2e_v<float>);
    mine.start_values(base, at, begin, begin > 0);
    hopper::product_wait<1>();
    hold_tiles(mine.ds);
    mine.turn_back(floats(at.means) + begin);
#pragma unroll
    for (int j = 0; j < kScoreTiles / 2; ++j) {
      store_factors(turned, begin % kBlockQueries / 8 + j * 2, mine.gradients[j]);
    }
    mine.start_keys(base, at, begin, begin > 0);
  }

  // Once a block of queries is done: what comes after the next two, or another pass's values.
  __device__ __forceinline__ void copy_ahead_of(int pass, int block) const {
    if (block == 0 && pass + kPassKeys < at.key_rows) copy_values(pass + kPassKeys);
    if (pass == 0) copy_block(block + 3);
    end_group_of_copies();
  }

  __device__ __forceinline__ void work_on_pass(int pass) {
    const int warp = threadIdx.x / 32, first = pass + warp * 16;
    KeyGradients<T, F, V> mine;
    mine.open(mask_of(a, of), a.keys, first + threadIdx.x % 32 / 4);
    mine.keys = base + at.keys + (pass + warp / 4 * 64) * kColumnRow;
    load_column_factors<V>(mine.v, base + at.values, kPassKeys, warp * 16);
#pragma unroll 1
    for (int block = 0; block < blocks(); ++block) {
      const uint32_t turned = base + at.turned + block % 2 * Memory::kTurned;
      const bool one_comes = pass == 0 && block + 1 < blocks();
      if (one_comes) load_output(block + 1);
#pragma unroll 1
      for (int half = 0; half < 2; ++half) {
        add_queries(mine, block * kBlockQueries + half * kScoreQueries, turned);
      }
      if (one_comes) {
        wait_for_groups<1>();
        store_means(block + 1);
      }
      hopper::show_to_copy_engine();
      __syncthreads();
      copy_ahead_of(pass, block);
      // The warpgroups take turns. Two blocks' score gradients are kept, as one of the warpgroups
      // may be a barrier ahead of the other.
      if (warp / 4 == block % 2) add_to_queries(pass, block, turned);
    }
    hopper::product_wait<0>();
    hold_tiles(mine.dk);
    hold_tiles(mine.dv);
    store_rows(rows_of<T>(g.dk, of), g.dk.row, first, a.keys, mine.dk, a.scale, a.scale);
    store_rows(rows_of<T>(g.dv, of), g.dv.row, first, a.keys, mine.dv, 1.0f, 1.0f);
    wait_for_copies();
    __syncthreads();
  }
};

// grid [H, B]
template <typename T, int F, int V>
__global__ void __launch_bounds__(kGradientThreads, 1)
    hopper_gradient_kernel(const __grid_constant__ ResidentAttention a,
                           const __grid_constant__ ResidentGradients g) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const HeadPlace of{static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x)};
  HopperGradient<T, F, V> head{
      a, g, of, HopperGradientMemory<F, V>(a.queries, a.keys), memory, shared_address(memory), {}};
  head.begin();
  for (int pass = 0; pass < head.at.key_rows; pass += kPassKeys) head.work_on_pass(pass);
#endif
}

}  // namespace perceiver::resident
