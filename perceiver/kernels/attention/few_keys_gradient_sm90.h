// The backward kernel of few_keys.h for Hopper, as few_keys_gradient_sm80.h with the
// warpgroup's products. For .cu files only.
#pragma once

#include <cmath>
#include <numbers>

#include "perceiver/kernels/attention/few_keys.h"
#include "perceiver/kernels/attention/few_keys_wgmma.h"
#include "perceiver/kernels/cuda/dependent_launch.h"
#include "perceiver/kernels/cuda/pack.h"

namespace perceiver::resident {

// Two warpgroups have 64 keys of a pass each. Queries come in blocks of 64, the rows of a product
// for their gradient, and scores are computed for 32 of them at once. A third warpgroup helps: it
// computes what queries lose to their softmax, and their gradient, and has results taken away.
inline constexpr int kKeyWarps = 8, kHelperWarps = 4;
inline constexpr int kGradientThreads = 32 * (kKeyWarps + kHelperWarps);
inline constexpr int kPassKeys = 128, kBlockQueries = 64;
inline constexpr int kScoreQueries = 32, kScoreTiles = kScoreQueries / 8;

// Queries [N, F], keys [M, F], the output's gradient [N, V], the values of a pass's keys, the score
// gradients of a block of queries turned [keys of a pass, queries], twice, all in columns; then
// log-sums and means of the queries [N], the queries' gradient as it stands after a pass [N, F],
// and barriers. After a pass its keys' gradients leave from where the keys were, and the values'
// from where score gradients were turned.
template <int F, int V>
struct HopperGradientMemory {
  static constexpr int kTurned = kPassKeys * kBlockQueries * 2, kValues = kPassKeys * V * 2;
  int query_rows, key_rows;
  uint32_t keys, gains, values, turned, log_sums, means, unfinished, barriers;  // queries are at 0

  __host__ __device__ HopperGradientMemory(int num_queries, int num_keys)
      : query_rows(rounded_up(num_queries, kBlockQueries)),
        key_rows(rounded_up(num_keys, kPassKeys)) {
    keys = query_rows * F * 2;
    gains = keys + key_rows * F * 2;
    values = gains + query_rows * V * 2;
    turned = values + kValues;
    log_sums = turned + (2 * kTurned > kValues ? 2 * kTurned : kValues);
    means = log_sums + query_rows * sizeof(float);
    unfinished = means + query_rows * sizeof(float);
    barriers = unfinished + (key_rows > kPassKeys ? query_rows * F * sizeof(float) : 0);
  }
  __host__ __device__ int blocks() const { return query_rows / kBlockQueries; }
  size_t bytes() const { return barriers + sizeof(uint64_t) * (9 + 2 * blocks()); }
};

// A thread's part of the output, a quarter of a row of 32.
template <typename T, int V>
struct OutputQuarter {
  static constexpr int kRows = kHelperWarps * 8, kPieces = V / 32;
  uint4 pieces[kPieces];

  __device__ static int row() { return threadIdx.x % (4 * kRows) / 4; }

  __device__ __forceinline__ void load(const T* out, int64_t stride, int begin, int count) {
    const int64_t at = begin + row();
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const T* const from = out + at * stride + (i * 4 + threadIdx.x % 4) * 8;
      pieces[i] = at < count ? *reinterpret_cast<const uint4*>(from) : uint4{};
    }
  }

  // The product of the row and of the output's gradient, for all four threads.
  __device__ __forceinline__ float times(const uint8_t* gains, int rows, int begin) const {
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
  bool low_open, high_open, all_open;  // whether the thread's two keys are there, and its warp's

  __device__ __forceinline__ void open(const uint8_t* mask, int keys, int low) {
    const auto is_open = [&](int key) { return key < keys && (mask == nullptr || mask[key] != 0); };
    low_open = is_open(low), high_open = is_open(low + 8);
    all_open = __all_sync(0xffffffffu, low_open && high_open);
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
      p[n][0] = power_of_two(p[n][0] * scale - log_sum.x);
      p[n][1] = power_of_two(p[n][1] * scale - log_sum.y);
      p[n][2] = power_of_two(p[n][2] * scale - log_sum.x);
      p[n][3] = power_of_two(p[n][3] * scale - log_sum.y);
    }
    if (!all_open) {
#pragma unroll
      for (int n = 0; n < kScoreTiles; ++n) {
        if (!low_open) p[n][0] = p[n][1] = 0.0f;
        if (!high_open) p[n][2] = p[n][3] = 0.0f;
      }
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

// Boxes of 64 rows and 32 channels.
struct HopperGradientMaps {
  CUtensorMap q, k, v, d_out, dk, dv;
};

template <int F, int V>
struct HopperGradientArguments {
  ResidentAttention a;
  ResidentGradients g;
  HopperGradientMaps maps;
  HopperGradientMemory<F, V> at;
};

// A block's head: its arrays in shared memory, and how they come. Blocks of queries are numbered
// through all passes where their score gradients go from the keys' warps to the helpers.
template <typename T, int F, int V>
struct HopperGradient {
  using Memory = HopperGradientMemory<F, V>;
  const ResidentAttention& a;
  const ResidentGradients& g;
  const HopperGradientMaps& maps;
  const Memory& at;
  const HeadPlace of;
  uint8_t* const memory;
  const uint32_t base;

  __device__ float* floats(uint32_t offset) const {
    return reinterpret_cast<float*>(memory + offset);
  }
  __device__ uint32_t turned(int number) const {
    return base + at.turned + number % 2 * Memory::kTurned;
  }

  // Barriers. Those of values, results and turned score gradients are used again.
  __device__ uint32_t barrier(int i) const { return base + at.barriers + 8 * i; }
  __device__ uint32_t keys_there() const { return barrier(0); }
  __device__ uint32_t values_there() const { return barrier(1); }
  __device__ uint32_t values_done() const { return barrier(2); }
  __device__ uint32_t turned_there(int number) const { return barrier(3 + number % 2); }
  __device__ uint32_t turned_done(int number) const { return barrier(5 + number % 2); }
  __device__ uint32_t results_there() const { return barrier(7); }
  __device__ uint32_t results_done() const { return barrier(8); }
  __device__ uint32_t rows_there(int block) const { return barrier(9 + 2 * block); }
  __device__ uint32_t figures_there(int block) const { return barrier(10 + 2 * block); }
  __device__ void init_barriers() const {
    hopper::barrier_init(keys_there(), 1);
    hopper::barrier_init(values_there(), 1);
    hopper::barrier_init(values_done(), kKeyWarps);
    hopper::barrier_init(results_there(), kKeyWarps);
    hopper::barrier_init(results_done(), kHelperWarps);
    for (int i = 0; i < 2; ++i) {
      hopper::barrier_init(turned_there(i), kKeyWarps);
      hopper::barrier_init(turned_done(i), kHelperWarps);
    }
    for (int i = 0; i < at.blocks(); ++i) {
      hopper::barrier_init(rows_there(i), 1);
      hopper::barrier_init(figures_there(i), kHelperWarps);
    }
    hopper::barrier_init_fence();
  }

  // By one thread. Rows that are not there arrive as zeros.
  __device__ void copy_keys() const {
    hopper::barrier_arrive_and_expect(keys_there(), at.key_rows * F * 2);
    for (int row = 0; row < at.key_rows; row += kTileRows) {
      copy_boxes<F>(base + at.keys + row * kColumnRow, at.key_rows, maps.k, row, of, keys_there());
    }
  }
  __device__ void copy_values(int pass) const {
    hopper::barrier_arrive_and_expect(values_there(), Memory::kValues);
    for (int row = 0; row < kPassKeys; row += kTileRows) {
      copy_boxes<V>(base + at.values + row * kColumnRow, kPassKeys, maps.v, pass + row, of,
                    values_there());
    }
  }
  __device__ void copy_block(int block) const {
    const int row = block * kBlockQueries;
    const uint32_t there = rows_there(block);
    hopper::barrier_arrive_and_expect(there, kBlockQueries * (F + V) * 2);
    // Queries that are the same for all examples are those of the first.
    copy_boxes<F>(base + row * kColumnRow, at.query_rows, maps.q, row,
                  {a.q.batch == 0 ? 0 : of.example, of.head}, there);
    copy_boxes<V>(base + at.gains + row * kColumnRow, at.query_rows, maps.d_out, row, of, there);
  }

  // By the keys' warps, which would only wait for them: each box takes a while to start.
  __device__ void copy_first_rows() const {
    if (threadIdx.x == 0) {
      copy_keys();
      copy_values(0);
    }
    if (threadIdx.x == 128) {
      for (int block = 0; block < at.blocks(); ++block) copy_block(block);
    }
    __syncwarp();
  }

  // By the helpers: log-sums of all queries in powers of two, and the means of their gains.
  __device__ __forceinline__ void note_figures() const {
    using Output = OutputQuarter<T, V>;
    const T* const out = rows_of<T>(g.out, of);
    Output next;
    next.load(out, g.out.row, 0, a.queries);
    const float* const log_sums = figures_of(g.log_sum_exp, a, of);
    for (int i = threadIdx.x % (32 * kHelperWarps); i < at.query_rows; i += 32 * kHelperWarps) {
      // A query that is not there, or has no key, has no weights: two to the minus infinity.
      const float log_sum = i < a.queries ? log_sums[i] : -INFINITY;
      floats(at.log_sums)[i] =
          log_sum == -INFINITY ? INFINITY : log_sum * std::numbers::log2e_v<float>;
    }
#pragma unroll 1
    for (int begin = 0; begin < at.query_rows; begin += Output::kRows) {
      const Output output = next;
      next.load(out, g.out.row, begin + Output::kRows, a.queries);
      const int block = begin / kBlockQueries;
      hopper::barrier_wait(rows_there(block), 0);
      const float mean = output.times(memory + at.gains, at.query_rows, begin);
      if (threadIdx.x % 4 == 0) floats(at.means)[begin + Output::row()] = mean;
      if ((begin + Output::kRows) % kBlockQueries == 0) arrive(figures_there(block));
    }
  }

  // dq [64 queries, F] (+)= dS K over the keys of a pass, by the helpers.
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

  // `number` is that of the block of queries.
  __device__ __forceinline__ void add_queries(KeyGradients<T, F, V>& mine, int begin, int pass,
                                              int number) const {
    mine.start_scores(base, at, begin);
    hopper::product_wait<1>();
    hold_tiles(mine.p);
    mine.weigh(floats(at.log_sums) + begin, a.scale * std::numbers::log2e_v<float>);
    mine.start_values(base, at, begin, begin > 0);
    hopper::product_wait<1>();
    hold_tiles(mine.ds);
    mine.turn_back(floats(at.means) + begin);
    hopper::barrier_wait(turned_done(number), number / 2 % 2 ^ 1);
    hopper::barrier_wait(results_done(), pass / kPassKeys % 2 ^ 1);
#pragma unroll
    for (int j = 0; j < kScoreTiles / 2; ++j) {
      store_factors(turned(number), begin % kBlockQueries / 8 + j * 2, mine.gradients[j]);
    }
    mine.start_keys(base, at, begin, begin > 0);
  }

  // What the keys' warps do in a pass; `number` is that of its first block of queries.
  __device__ __forceinline__ void work_on_pass(int pass, int number) const {
    const int warp = threadIdx.x / 32, first = pass + warp * 16;
    KeyGradients<T, F, V> mine;
    mine.open(mask_of(a, of), a.keys, first + threadIdx.x % 32 / 4);
    mine.keys = base + at.keys + (pass + warp / 4 * 64) * kColumnRow;
    hopper::barrier_wait(keys_there(), 0);
    hopper::barrier_wait(values_there(), pass / kPassKeys % 2);
    load_column_factors<V>(mine.v, base + at.values, kPassKeys, warp * 16);
    arrive(values_done());
#pragma unroll 1
    for (int block = 0; block < at.blocks(); ++block, ++number) {
      hopper::barrier_wait(rows_there(block), 0);
      hopper::barrier_wait(figures_there(block), 0);
#pragma unroll 1
      for (int half = 0; half < 2; ++half) {
        add_queries(mine, block * kBlockQueries + half * kScoreQueries, pass, number);
      }
      hopper::show_to_copy_engine();
      arrive(turned_there(number));
    }
    hopper::product_wait<0>();
    hold_tiles(mine.dk);
    hold_tiles(mine.dv);
    // The helpers need neither these keys nor score gradients any more.
    for (int i = number > 1 ? number - 2 : 0; i < number; ++i) {
      hopper::barrier_wait(turned_done(i), i / 2 % 2);
    }
    store_to_columns<T>(base + at.keys, at.key_rows, first, mine.dk, a.scale, a.scale);
    store_to_columns<T>(base + at.turned, kPassKeys, warp * 16, mine.dv, 1.0f, 1.0f);
    hopper::show_to_copy_engine();
    arrive(results_there());
  }

  // Gradients of a pass's keys and values, by the first lane of each helper warp.
  __device__ void store_results(int pass) const {
    if (threadIdx.x % 32 != 0) return;
    hopper::barrier_wait(results_there(), pass / kPassKeys % 2);
    constexpr int kColumns = (F + V) / 32;
    for (int i = threadIdx.x / 32 - kKeyWarps; i < 2 * kColumns; i += kHelperWarps) {
      const int row = i / kColumns * kTileRows, column = i % kColumns;
      const bool is_key = column < F / 32;
      const int channel = (is_key ? column : column - F / 32) * 32;
      if (pass + row >= a.keys) continue;
      const uint32_t from =
          is_key ? base + at.keys + (channel / 32 * at.key_rows + pass + row) * kColumnRow
                 : base + at.turned + (channel / 32 * kPassKeys + row) * kColumnRow;
      hopper::store_head_box(
          {is_key ? &maps.dk : &maps.dv, channel, pass + row, of.head, of.example}, from);
    }
    hopper::close_group_of_stores();
    hopper::wait_until_stores_have_read();
    hopper::barrier_arrive(results_done());
  }

  // What the helpers do.
  __device__ __forceinline__ void help() const {
    note_figures();
    int number = 0;
    for (int pass = 0; pass < at.key_rows; pass += kPassKeys) {
      if (threadIdx.x == 32 * kKeyWarps && pass + kPassKeys < at.key_rows) {
        hopper::barrier_wait(values_done(), pass / kPassKeys % 2);
        copy_values(pass + kPassKeys);
      }
#pragma unroll 1
      for (int block = 0; block < at.blocks(); ++block, ++number) {
        hopper::barrier_wait(turned_there(number), number / 2 % 2);
        add_to_queries(pass, block, turned(number));
        arrive(turned_done(number));
      }
      store_results(pass);
      __syncwarp();
    }
  }
};

// grid [H, B]
template <typename T, int F, int V>
__global__ void __launch_bounds__(kGradientThreads, 1)
    hopper_gradient_kernel(const __grid_constant__ HopperGradientArguments<F, V> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) uint8_t memory[];
  const HeadPlace of{static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x)};
  const HopperGradient<T, F, V> head{
      args.a, args.g, args.maps, args.at, of, memory, shared_address(memory)};
  if (threadIdx.x == 0) {
    const HopperGradientMaps& maps = args.maps;
    for (const CUtensorMap* map : {&maps.k, &maps.v, &maps.q, &maps.d_out, &maps.dk, &maps.dv}) {
      hopper::prefetch_map(map);
    }
    head.init_barriers();
  }
  __syncthreads();
  let_next_kernel_come();
  wait_for_kernels_before();
  if (threadIdx.x / 128 == 2) {
    hopper::give_registers<kHelperRegisters<F>>();
    head.help();
  } else {
    hopper::take_registers<kWorkerRegisters<F>>();
    head.copy_first_rows();
    int number = 0;
    for (int pass = 0; pass < args.at.key_rows; pass += kPassKeys, number += args.at.blocks()) {
      head.work_on_pass(pass, number);
    }
  }
#endif
}

}  // namespace perceiver::resident
