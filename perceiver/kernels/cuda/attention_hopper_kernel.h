// The kernel of attention_hopper. In each block one warp asks the copy engine for tiles of keys, a
// ring of them; two warpgroups work on them, 64 queries each. A warpgroup starts the scores of the
// next tile before it adds the values of the last, so that its softmax runs beside that product.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "perceiver/kernels/cuda/attention_hopper_tile.h"
#include "perceiver/kernels/cuda/hopper.h"
#include "perceiver/kernels/cuda/wgmma.h"

namespace perceiver {
namespace attention_hopper_parts {

using namespace hopper;  // NOLINT: the words of this file

constexpr unsigned kAllLanes = 0xffffffffu;

// Addresses of what is in shared memory.
template <class Tile>
struct Shared {
  uint32_t base;
  uint32_t* mask;

  __device__ explicit Shared(uint8_t* memory)
      : base(shared_address(memory)), mask(reinterpret_cast<uint32_t*>(memory + Tile::kMaskAt)) {}
  __device__ uint32_t queries() const { return base; }
  __device__ uint32_t tile(uint32_t stage) const {
    return base + Tile::kTilesAt + stage * Tile::kTileStep;
  }
  __device__ uint32_t full(uint32_t stage) const { return base + Tile::kBarriersAt + 8 * stage; }
  __device__ uint32_t empty(uint32_t stage) const { return full(Tile::kStages + stage); }
  __device__ uint32_t queries_full() const { return full(2 * Tile::kStages); }
  __device__ uint32_t queries_empty() const { return full(2 * Tile::kStages + 1); }
  __device__ uint32_t* mask_of(uint32_t stage) const { return mask + stage * Tile::kMaskWords; }
};

// Where one stands in the ring; the phase turns over with each round.
template <class Tile>
struct Ring {
  uint32_t stage = 0, phase = 0;
  __device__ __forceinline__ void next() {
    if (++stage == Tile::kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// A tile of queries and a range of tiles of keys.
struct Work {
  int batch, split, first_query, first_tile, tiles;
};

template <class Tile>
__device__ __forceinline__ Work work_at(const HopperArguments& args, int index) {
  const int rest = index / args.query_tiles;
  Work work;
  work.split = rest % args.splits;
  work.batch = rest / args.splits;
  work.first_query = index % args.query_tiles * Tile::kQueries;
  work.first_tile = work.split * args.per_split;
  work.tiles = min(args.per_split, args.tiles - work.first_tile);
  return work;
}

__device__ __forceinline__ int num_works(const HopperArguments& args) {
  return args.query_tiles * args.splits * args.batch;
}

// ---- the warp that fetches -----------------------------------------------------------------

// All columns of a tile of kRows rows.
template <class Tile, int kRows>
__device__ __forceinline__ void copy_tile(const CUtensorMap* wide, const CUtensorMap* narrow,
                                          uint32_t to, int row, int batch, uint32_t barrier) {
  constexpr uint32_t kWideBytes = kRows * Tile::kWideRow, kNarrowBytes = kRows * Tile::kNarrowRow;
#pragma unroll
  for (int i = 0; i < Tile::kWide; ++i) {
    copy_box(to + i * kWideBytes, wide, 64 * i, row, batch, barrier);
  }
#pragma unroll
  for (int i = 0; i < Tile::kNarrow; ++i) {
    copy_box(to + Tile::kWide * kWideBytes + i * kNarrowBytes, narrow, 64 * Tile::kWide + 16 * i,
             row, batch, barrier);
  }
}

template <class Tile>
struct Fetcher {
  const HopperArguments& args;
  const Shared<Tile>& shared;
  Ring<Tile> ring;
  int lane;

  // The stage the next tile goes to, once everyone is done with what was there.
  __device__ __forceinline__ void copy(const CUtensorMap* wide, const CUtensorMap* narrow,
                                       const Work& work, int tile) {
    if (lane == 0) {
      const uint32_t barrier = shared.full(ring.stage);
      barrier_arrive_and_expect(barrier, Tile::kTileBytes);
      copy_tile<Tile, Tile::kKeys>(wide, narrow, shared.tile(ring.stage),
                                   (work.first_tile + tile) * Tile::kKeys, work.batch, barrier);
    }
    __syncwarp();
    ring.next();
  }

  __device__ __forceinline__ void wait() { barrier_wait(shared.empty(ring.stage), ring.phase ^ 1); }

  __device__ __forceinline__ void keys(const Work& work, int tile) {
    const int first = (work.first_tile + tile) * Tile::kKeys + lane;
    const uint8_t* mask = args.kv_mask + work.batch * args.mask_batch;
    // The mask is asked for before the wait, and there after it.
    uint32_t present[Tile::kMaskWords];
#pragma unroll
    for (int i = 0; i < Tile::kMaskWords; ++i) {
      const int key = first + 32 * i;
      present[i] = key < args.keys;
      if (args.kv_mask != nullptr && key < args.keys) present[i] = mask[key];
      if (lane + 32 * i >= Tile::kKeys) present[i] = 1;  // bits of no key
    }
    wait();
#pragma unroll
    for (int i = 0; i < Tile::kMaskWords; ++i) {
      const uint32_t bits = __ballot_sync(kAllLanes, present[i] != 0);
      if (lane == 0) shared.mask_of(ring.stage)[i] = bits;
    }
    copy(&args.k_wide, &args.k_narrow, work, tile);
  }

  __device__ __forceinline__ void values(const Work& work, int tile) {
    wait();
    copy(&args.v_wide, &args.v_narrow, work, tile);
  }

  __device__ __forceinline__ void queries(const Work& work, uint32_t phase) {
    if (lane == 0) {
      barrier_wait(shared.queries_empty(), phase ^ 1);
      barrier_arrive_and_expect(shared.queries_full(), Tile::kQueryBytes);
      copy_tile<Tile, Tile::kQueries>(&args.q_wide, &args.q_narrow, shared.queries(),
                                      work.first_query, work.batch, shared.queries_full());
    }
    __syncwarp();
  }
};

// In the order in which the warpgroups take the tiles. With kOverlap these are the keys of one
// step, then the values of the last; else values follow their keys.
template <class Tile>
__device__ __forceinline__ void fetch(const HopperArguments& args, const Shared<Tile>& shared) {
  constexpr int kBehind = Tile::kOverlap ? 1 : 0;
  Fetcher<Tile> fetcher{args, shared, {}, static_cast<int>(threadIdx.x % 32)};
  uint32_t phase = 0;
  const int works = num_works(args);
  for (int index = blockIdx.x; index < works; index += gridDim.x) {
    const Work work = work_at<Tile>(args, index);
    fetcher.queries(work, phase);
    phase ^= 1;
#pragma unroll 1
    for (int tile = 0; tile < work.tiles; ++tile) {
      fetcher.keys(work, tile);
      if (!Tile::kShared && tile >= kBehind) fetcher.values(work, tile - kBehind);
    }
    if (!Tile::kShared && Tile::kOverlap) fetcher.values(work, work.tiles - 1);
  }
}

// ---- the warpgroups that compute -----------------------------------------------------------

template <class Tile>
struct Sums {
  float wide[Tile::kWide * 32];
  float narrow[Tile::kNarrowValues / 2];

  __device__ __forceinline__ void hold() {
    hopper::hold(wide);
    hopper::hold(narrow);
  }
};

// Starts scores [64, kKeys] = Q K^T, of the warpgroup's queries and the tile's keys. Addresses of
// products are in units of 16 bytes.
template <class Tile>
__device__ __forceinline__ void start_scores(float (&scores)[Tile::kKeys / 2],
                                             const Shared<Tile>& shared, int group,
                                             uint32_t stage) {
  using T = typename Tile::Element;
  // Else the compiler computes all addresses of Q once, and keeps them in registers it has not got.
  group = __shfl_sync(kAllLanes, group, 0);
  const uint32_t q = (shared.queries() + group * 64 * Tile::kWideRow) >> 4;
  const uint32_t k = shared.tile(stage) >> 4;
#pragma unroll
  for (int i = 0; i < 4 * Tile::kWide; ++i) {
    const uint32_t inside = i % 4 * 32;
    product<T, Tile::kKeys>(
        scores, inner_descriptor<Swizzle::k128>(q, i / 4 * Tile::kQueryWide + inside),
        inner_descriptor<Swizzle::k128>(k, i / 4 * Tile::kKeyWide + inside), i > 0);
  }
  const uint32_t q_narrow =
      (shared.queries() + Tile::kWide * Tile::kQueryWide + group * 64 * Tile::kNarrowRow) >> 4;
#pragma unroll
  for (int i = 0; i < Tile::kNarrow; ++i) {
    product<T, Tile::kKeys>(
        scores, inner_descriptor<Swizzle::k32>(q_narrow, i * Tile::kQueryNarrow),
        inner_descriptor<Swizzle::k32>(k, Tile::kWide * Tile::kKeyWide + i * Tile::kKeyNarrow),
        Tile::kWide + i > 0);
  }
  product_commit();
}

// Starts sums (+)= weights V.
template <class Tile>
__device__ __forceinline__ void start_values(Sums<Tile>& sums,
                                             const uint32_t (&weights)[Tile::kKeys / 16][4],
                                             const Shared<Tile>& shared, uint32_t stage, int add) {
  using T = typename Tile::Element;
  // A product has at most 256 columns.
  constexpr int kFirst = Tile::kWide < 4 ? Tile::kWide : 4, kMore = Tile::kWide - kFirst;
  const uint32_t v = shared.tile(stage) >> 4;
#pragma unroll
  for (int i = 0; i < Tile::kKeys / 16; ++i) {
    const int adding = i > 0 ? 1 : add;
    const uint32_t wide = i * 16 * Tile::kWideRow;
    product<T, 64 * kFirst>(sums.wide, weights[i],
                            outer_descriptor<Swizzle::k128, Tile::kKeyWide>(v, wide), adding);
    if constexpr (kMore > 0) {
      product<T, 64 * kMore>(
          sums.wide + 32 * kFirst, weights[i],
          outer_descriptor<Swizzle::k128, Tile::kKeyWide>(v, wide + kFirst * Tile::kKeyWide),
          adding);
    }
    product<T, Tile::kNarrowValues>(
        sums.narrow, weights[i],
        outer_descriptor<Swizzle::k32, Tile::kKeyNarrow>(
            v, Tile::kWide * Tile::kKeyWide + i * 16 * Tile::kNarrowRow),
        adding);
  }
  product_commit();
}

// Scores of keys that are not there become -infinity.
template <class Tile>
__device__ __forceinline__ void hide(float (&scores)[Tile::kKeys / 2], const uint32_t* mask) {
  uint32_t words[Tile::kMaskWords], all = ~0u;
#pragma unroll
  for (int i = 0; i < Tile::kMaskWords; ++i) {
    words[i] = mask[i];
    all &= words[i];
  }
  if (all == ~0u) return;
#pragma unroll
  for (int i = 0; i < Tile::kMaskWords; ++i) words[i] >>= 2 * (threadIdx.x % 4);
#pragma unroll
  for (int i = 0; i < Tile::kKeys / 2; ++i) {
    const int key = i / 4 * 8 + i % 2;  // of the quad's first thread
    if ((words[key / 32] >> (key % 32) & 1) == 0) scores[i] = -INFINITY;
  }
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Of the scores in natural units; a query without keys gives exp(score - it) = 0.
__device__ __forceinline__ float log_sum_exp(float top, float total, float scale_log2) {
  constexpr float kLog2 = 0.6931471805599453f;
  return total > 0.0f ? (top * scale_log2 + log2f(total)) * kLog2 : INFINITY;
}

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

// The running softmax of a thread's two rows. `total` is of the thread's own columns.
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY};
  float total[2] = {0.0f, 0.0f};
  float rescale[2];  // what sums of earlier tiles are to be multiplied with

  // Scores become weights 2^(scale (score - top)).
  template <int kCount>
  __device__ __forceinline__ void step(float (&scores)[kCount], float scale_log2) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float raised = top[row];
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
        raised = fmaxf(raised, fmaxf(scores[i + 2 * row], scores[i + 2 * row + 1]));
      }
      raised = quad_max(raised);
      // No key seen yet: any finite base gives weights of zero.
      const float base = raised == -INFINITY ? 0.0f : raised * scale_log2;
      rescale[row] = exp2_fast(top[row] * scale_log2 - base);
      top[row] = raised;
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kCount; i += 4) {
#pragma unroll
        for (int j = i + 2 * row; j < i + 2 * row + 2; ++j) {
          scores[j] = exp2_fast(fmaf(scores[j], scale_log2, -base));
          sum += scores[j];
        }
      }
      total[row] = total[row] * rescale[row] + sum;
    }
  }

  // The first tile: there are no sums yet.
  template <int kCount>
  __device__ __forceinline__ void start(float (&scores)[kCount], float scale_log2) {
    step(scores, scale_log2);
    rescale[0] = rescale[1] = 1.0f;
  }

  // Most tiles raise no row's maximum: their warps skip the multiplications.
  template <class Tile>
  __device__ __forceinline__ void apply(Sums<Tile>& sums) const {
    if (!__any_sync(kAllLanes, rescale[0] != 1.0f || rescale[1] != 1.0f)) return;
#pragma unroll
    for (int i = 0; i < Tile::kWide * 32; ++i) sums.wide[i] *= rescale[i / 2 % 2];
#pragma unroll
    for (int i = 0; i < Tile::kNarrowValues / 2; ++i) sums.narrow[i] *= rescale[i / 2 % 2];
  }
};

__device__ __forceinline__ uint32_t pack(__nv_bfloat16, float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

__device__ __forceinline__ uint32_t pack(__half, float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// Weights as the left side of a product: what a thread holds of the sums is what it must give.
template <class Tile>
__device__ __forceinline__ void pack_weights(uint32_t (&weights)[Tile::kKeys / 16][4],
                                             const float (&scores)[Tile::kKeys / 2]) {
#pragma unroll
  for (int i = 0; i < Tile::kKeys / 4; ++i) {
    weights[i / 4][i % 4] = pack(typename Tile::Element{}, scores[2 * i], scores[2 * i + 1]);
  }
}

// ---- what becomes of the sums --------------------------------------------------------------

// Word i of thread j of a quad and word j of thread i change places.
__device__ __forceinline__ void transpose_quad(uint32_t (&words)[4]) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int bit = 2; bit >= 1; bit /= 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      const uint32_t sent = lane & bit ? words[i] : words[i | bit];
      const uint32_t got = __shfl_xor_sync(kAllLanes, sent, bit);
      if (lane & bit) {
        words[i] = got;
      } else {
        words[i | bit] = got;
      }
    }
  }
}

// Where a thread's two rows go; null where there is no such row.
template <class Out>
struct Rows {
  Out* to[2];

  __device__ __forceinline__ Rows(Out* array, int64_t stride, int first, int count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = first + 8 * i;
      to[i] = row < count ? array + row * stride : nullptr;
    }
  }
};

// Sums of 8 kBlocks channels, from `channel` on, times `factor`, in the output's type: four blocks
// of eight channels at a time, so that a thread has 16 bytes of one row to write.
template <class T, int kBlocks>
__device__ __forceinline__ void store(const float* sums, const float (&factor)[2], int channel,
                                      int channels, const Rows<T>& rows) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int block = 0; block < kBlocks; block += 4) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      uint32_t words[4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (block + i >= kBlocks) continue;
        const float* pair = sums + 4 * (block + i) + 2 * row;
        words[i] = pack(T{}, pair[0] * factor[row], pair[1] * factor[row]);
      }
      transpose_quad(words);
      const int inside = 8 * (block + lane);
      if (rows.to[row] == nullptr || inside >= 8 * kBlocks || channel + inside >= channels)
        continue;
      *reinterpret_cast<uint4*>(rows.to[row] + channel + inside) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// The same for sums that other blocks add to: as they are.
template <int kBlocks>
__device__ __forceinline__ void store_partial(const float* sums, int channel, int channels,
                                              const Rows<float>& rows) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if (rows.to[row] == nullptr || channel + 8 * block >= channels) continue;
      const float* pair = sums + 4 * block + 2 * row;
      *reinterpret_cast<float2*>(rows.to[row] + channel + 8 * block + 2 * (threadIdx.x % 4)) =
          make_float2(pair[0], pair[1]);
    }
  }
}

template <class Tile>
__device__ __forceinline__ void finish_split(const HopperArguments& args, const Work& work, int row,
                                             const Sums<Tile>& sums, const Softmax& softmax) {
  const int64_t first = (static_cast<int64_t>(work.split) * args.batch + work.batch) * args.queries;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x % 4 == 0 && row + 8 * i < args.queries) {
      args.partial_totals[first + row + 8 * i] = make_float2(softmax.top[i], softmax.total[i]);
    }
  }
  const Rows<float> rows(args.partial_sums + first * args.channels, args.channels, row,
                         args.queries);
  store_partial<8 * Tile::kWide>(sums.wide, 0, args.channels, rows);
  store_partial<Tile::kNarrowValues / 8>(sums.narrow, 64 * Tile::kWide, args.channels, rows);
}

template <class Tile>
__device__ __forceinline__ void finish(const HopperArguments& args, const Work& work, int row,
                                       const Sums<Tile>& sums, Softmax& softmax) {
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
  const Rows<T> rows(static_cast<T*>(args.out) + work.batch * args.out_batch, args.out_row, row,
                     args.queries);
  store<T, 8 * Tile::kWide>(sums.wide, factor, 0, args.channels, rows);
  store<T, Tile::kNarrowValues / 8>(sums.narrow, factor, 64 * Tile::kWide, args.channels, rows);
}

// ---- one warpgroup's work ------------------------------------------------------------------

// A warp is done with a stage.
template <class Tile>
__device__ __forceinline__ void release(const Shared<Tile>& shared, uint32_t stage) {
  if (threadIdx.x % 32 == 0) barrier_arrive(shared.empty(stage));
}

// The two warpgroups give their products to the tensor cores one after the other, so that the
// softmax of one falls into the products of the other.
template <class Tile>
__device__ __forceinline__ void wait_for_turn(int group) {
  if constexpr (Tile::kTurns) asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
}

template <class Tile>
__device__ __forceinline__ void pass_turn(int group) {
  if constexpr (Tile::kTurns) asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory");
}

template <class Tile>
__device__ __forceinline__ void attend(const HopperArguments& args, const Shared<Tile>& shared,
                                       const Work& work, int group, Ring<Tile>& ring,
                                       Sums<Tile>& sums, Softmax& softmax) {
  float scores[Tile::kKeys / 2];
  uint32_t weights[Tile::kKeys / 16][4];

  // The wait for a product of values stands at the head of the loop and the softmax at its end: in
  // one piece of code the compiler would move the softmax behind the wait.
  uint32_t key_stage = ring.stage, value_stage = ring.stage;
  barrier_wait(shared.full(key_stage), ring.phase);
  ring.next();
  product_fence();
  start_scores<Tile>(scores, shared, group, key_stage);
  product_wait<0>();
  hold(scores);
  hide<Tile>(scores, shared.mask_of(key_stage));
  if constexpr (!Tile::kShared) release(shared, key_stage);
  softmax.start(scores, args.scale_log2);
  hold(scores);

#pragma unroll 1
  for (int tile = 1;; ++tile) {
    product_wait<0>();
    sums.hold();
    hold(scores);  // the weights' registers are in use until here
    if (tile > 1) release(shared, value_stage);
    softmax.template apply<Tile>(sums);
    pack_weights<Tile>(weights, scores);
    if constexpr (Tile::kShared) value_stage = key_stage;
    if (tile == work.tiles) break;

    key_stage = ring.stage;
    barrier_wait(shared.full(key_stage), ring.phase);
    ring.next();
    wait_for_turn<Tile>(group);
    product_fence();
    start_scores<Tile>(scores, shared, group, key_stage);
    if constexpr (!Tile::kShared) {
      value_stage = ring.stage;
      barrier_wait(shared.full(value_stage), ring.phase);
      ring.next();
      product_fence();
    }
    start_values<Tile>(sums, weights, shared, value_stage, tile > 1);
    pass_turn<Tile>(group);

    product_wait<1>();
    hold(scores);
    hide<Tile>(scores, shared.mask_of(key_stage));
    if constexpr (!Tile::kShared) release(shared, key_stage);
    softmax.step(scores, args.scale_log2);
    hold(scores);
  }

  if (threadIdx.x % 32 == 0) barrier_arrive(shared.queries_empty());
  if constexpr (!Tile::kShared) {
    value_stage = ring.stage;
    barrier_wait(shared.full(value_stage), ring.phase);
    ring.next();
  }
  product_fence();
  start_values<Tile>(sums, weights, shared, value_stage, work.tiles > 1);
  product_wait<0>();
  sums.hold();
  release(shared, value_stage);
}

// The same, one product after the other: the softmax of a warpgroup falls into products of the
// other one alone.
template <class Tile>
__device__ __forceinline__ void attend_in_turn(const HopperArguments& args,
                                               const Shared<Tile>& shared, const Work& work,
                                               int group, Ring<Tile>& ring, Sums<Tile>& sums,
                                               Softmax& softmax) {
  float scores[Tile::kKeys / 2];
  uint32_t weights[Tile::kKeys / 16][4];
#pragma unroll 1
  for (int tile = 0; tile < work.tiles; ++tile) {
    const uint32_t key_stage = ring.stage;
    barrier_wait(shared.full(key_stage), ring.phase);
    ring.next();
    wait_for_turn<Tile>(group);
    product_fence();
    start_scores<Tile>(scores, shared, group, key_stage);
    pass_turn<Tile>(group);
    product_wait<0>();
    hold(scores);
    if (tile + 1 == work.tiles && threadIdx.x % 32 == 0) barrier_arrive(shared.queries_empty());
    hide<Tile>(scores, shared.mask_of(key_stage));
    if constexpr (!Tile::kShared) release(shared, key_stage);
    if (tile == 0) {
      softmax.start(scores, args.scale_log2);
    } else {
      softmax.step(scores, args.scale_log2);
      softmax.template apply<Tile>(sums);
    }
    pack_weights<Tile>(weights, scores);
    uint32_t value_stage = key_stage;
    if constexpr (!Tile::kShared) {
      value_stage = ring.stage;
      barrier_wait(shared.full(value_stage), ring.phase);
      ring.next();
    }
    wait_for_turn<Tile>(group);
    product_fence();
    start_values<Tile>(sums, weights, shared, value_stage, tile > 0);
    pass_turn<Tile>(group);
    product_wait<0>();
    sums.hold();
    release(shared, value_stage);
  }
}

template <class Tile>
__device__ __forceinline__ void compute(const HopperArguments& args, const Shared<Tile>& shared,
                                        int group) {
  Ring<Tile> ring;
  uint32_t phase = 0;
  if (group == 1) pass_turn<Tile>(group);
  const int works = num_works(args);
  for (int index = blockIdx.x; index < works; index += gridDim.x) {
    const Work work = work_at<Tile>(args, index);
    Sums<Tile> sums;
    Softmax softmax;
    barrier_wait(shared.queries_full(), phase);
    phase ^= 1;
    if constexpr (Tile::kOverlap) {
      attend<Tile>(args, shared, work, group, ring, sums, softmax);
    } else {
      attend_in_turn<Tile>(args, shared, work, group, ring, sums, softmax);
    }
    const int row =
        work.first_query + 64 * group + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    finish<Tile>(args, work, row, sums, softmax);
  }
}

template <class Tile>
__device__ __forceinline__ void init_barriers(const Shared<Tile>& shared) {
  constexpr uint32_t kWarps = 4 * Tile::kGroups;
  for (int i = 0; i < Tile::kStages; ++i) {
    barrier_init(shared.full(i), 1);
    barrier_init(shared.empty(i), kWarps);
  }
  barrier_init(shared.queries_full(), 1);
  barrier_init(shared.queries_empty(), kWarps);
  barrier_init_fence();
}

}  // namespace attention_hopper_parts

template <class Tile>
__global__ void __maxnreg__(Tile::kEntryRegisters)
    attention_hopper_kernel(const __grid_constant__ HopperArguments args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using namespace attention_hopper_parts;  // NOLINT
  extern __shared__ __align__(1024) uint8_t memory[];
  const Shared<Tile> shared(memory);
  if (threadIdx.x == 0) init_barriers(shared);
  __syncthreads();
  const int group = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  if (group == Tile::kGroups) {
    give_registers<Tile::kProducerRegisters>();
    if (threadIdx.x / 32 == 4 * Tile::kGroups) fetch<Tile>(args, shared);
  } else {
    take_registers<Tile::kConsumerRegisters>();
    compute<Tile>(args, shared, group);
  }
#endif
}

}  // namespace perceiver
