// What the kernels of attention_resident for Hopper multiply: rows in shared memory, in columns of
// 32 channels, and the warpgroup's products of them (wgmma.h). For device code of sm_90a alone.
#pragma once

#include <cstdint>

#include "perceiver/kernels/attention/few_keys_rows.h"
#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/tma.h"
#include "perceiver/kernels/cuda/wgmma.h"

namespace perceiver::resident {

// Rows [rows, C] lie as columns [rows, 32], one after the other, with rows of 64 bytes whose four
// pieces are exchanged (PTX: 64-byte swizzle). Columns start at multiples of 512 bytes.
inline constexpr int kColumnRow = 64;

// The byte at which a piece of eight channels lies.
__device__ inline uint32_t piece_at(int rows, int row, int piece) {
  return (piece / 4 * rows + row) * kColumnRow + ((piece ^ (row / 2)) % 4) * 16;
}

// Three warpgroups start with 168 registers a thread; one that helps two others leaves them some.
template <int F>
inline constexpr int kHelperRegisters = F > 32 ? 88 : 72;
template <int F>
inline constexpr int kWorkerRegisters = (3 * 168 - kHelperRegisters<F>) / 2;

// All lanes of the warp have come here.
__device__ inline void arrive(uint32_t barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) hopper::barrier_arrive(barrier);
}

// The copy engine brings 64 rows at once.
inline constexpr int kTileRows = 64;

// Starts the copy of 64 rows of C channels, from `row` on, to columns of `rows` rows.
template <int C>
__device__ void copy_boxes(uint32_t to, int rows, const CUtensorMap& map, int row,
                           const HeadPlace& of, uint32_t barrier) {
#pragma unroll
  for (int i = 0; i < C / 32; ++i) {
    hopper::copy_head_box(to + i * rows * kColumnRow, {&map, 32 * i, row, of.head, of.example},
                          barrier);
  }
}

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

// Sixteen rows of sums of a warp, from `row` on, times a factor for each half of them, to columns.
template <typename T, int kTiles>
__device__ __forceinline__ void store_to_columns(uint32_t columns, int rows, int row,
                                                 const float (&sums)[kTiles][4], float by_low,
                                                 float by_high) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float by = half == 0 ? by_low : by_high;
      const uint32_t word = pack_pair<T>(sums[n][2 * half] * by, sums[n][2 * half + 1] * by);
      const uint32_t to = columns + piece_at(rows, row + lane / 4 + 8 * half, n) + lane % 4 * 4;
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
    }
  }
}

// Columns at `start`, in bytes, as an operand; `leading` is the distance of columns where channels
// are the outer dimension of the product, and of no meaning where they are the inner one.
__device__ inline uint64_t columns_at(uint32_t start, uint32_t leading = 16) {
  constexpr uint64_t kSwizzle64 = 2, kEightRows = 8 * kColumnRow;
  constexpr uint64_t kConstant = kSwizzle64 << 62 | (kEightRows >> 4) << 32;
  return kConstant | (start >> 4 | leading >> 4 << 16);
}

// The sixteen channels from 16 `step` on, of rows that start at `start`.
__device__ inline uint64_t channels_at(uint32_t start, int rows, int step) {
  return columns_at(start + step / 2 * rows * kColumnRow + step % 2 * 32);
}

// clang-format off
#define PERCEIVER_WGMMA_FACTORS(N, R, A0, A1, A2, A3, B, ADD, TURNED, TYPE)                     \
  asm volatile(                                                                                \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                          \
      " {" PERCEIVER_NAMES_##R "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B             \
      ", add, 1, 1, %" #TURNED ";\n}\n"                                                        \
      : PERCEIVER_SUMS_##R(sums, 0)                                                            \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kTurned ? 1 : 0))

#define PERCEIVER_WGMMA_COLUMNS(N, R, A, B, ADD, TURNED, TYPE)                                 \
  asm volatile(                                                                                \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                          \
      " {" PERCEIVER_NAMES_##R "}, %" #A ", %" #B ", add, 1, 1, %" #TURNED ", %" #TURNED       \
      ";\n}\n"                                                                                 \
      : PERCEIVER_SUMS_##R(sums, 0)                                                            \
      : "l"(a), "l"(b), "r"(add), "n"(kTurned ? 1 : 0))

// sums [64, kN] (+)= a b, with a from registers (as in wgmma.h). Rows of b are along the outer
// dimension or, turned, along the inner one.
template <typename T, int kN, bool kTurned>
__device__ __forceinline__ void multiply_factors(float* sums, const uint32_t (&a)[4], uint64_t b,
                                                 int add) {
  static_assert(kN == 32 || kN == 64 || kN == 96 || kN == 160, "add the size to the list");
  if constexpr (kN == 32) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_FACTORS, 32, 16, 16, 17, 18, 19, 20, 21, 22);
  if constexpr (kN == 64) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_FACTORS, 64, 32, 32, 33, 34, 35, 36, 37, 38);
  if constexpr (kN == 96) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_FACTORS, 96, 48, 48, 49, 50, 51, 52, 53, 54);
  if constexpr (kN == 160) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_FACTORS, 160, 80, 80, 81, 82, 83, 84, 85, 86);
}

// The same with both in shared memory, both with rows along the outer dimension or both turned.
template <typename T, int kN, bool kTurned>
__device__ __forceinline__ void multiply_columns(float* sums, uint64_t a, uint64_t b, int add) {
  static_assert(kN == 16 || kN == 32 || kN == 64, "add the size to the list");
  if constexpr (kN == 16) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_COLUMNS, 16, 8, 8, 9, 10, 11);
  if constexpr (kN == 32) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_COLUMNS, 32, 16, 16, 17, 18, 19);
  if constexpr (kN == 64) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_COLUMNS, 64, 32, 32, 33, 34, 35);
}
// clang-format on

// Tiles of sums as the products give them, once they are complete.
template <int kTiles>
__device__ __forceinline__ void hold_tiles(float (&sums)[kTiles][4]) {
#pragma unroll
  for (int i = 0; i < kTiles; ++i) hopper::hold(sums[i]);
}

}  // namespace perceiver::resident
