// What happens to a tile of product_hopper when its sums are complete. For device code of sm_90a
// alone.
#pragma once

#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/quad.h"
#include "perceiver/kernels/linear/gemm_sm90.h"
#include "perceiver/kernels/linear/gemm_sm90_tile.h"
#include "perceiver/kernels/norm/epsilon.h"

namespace perceiver::hopper {

// x / (1 + exp(-2 u)) is x (1 + tanh u) / 2 with all its digits where that is small.
__device__ __forceinline__ float gelu_tanh(float x) {
  constexpr float kRoot = 0.79788456f, kCubic = 0.044715f, kLog2e = 1.4426950f;
  const float u = x * (kRoot + kRoot * kCubic * x * x);
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-2.0f * kLog2e * u));
  return __fdividef(x, 1.0f + power);
}

template <typename T>
__device__ __forceinline__ float2 unpacked(uint32_t word) {
  struct Pair {
    T low, high;
  };
  const Pair pair = reinterpret_cast<const Pair&>(word);
  return {to_float(pair.low), to_float(pair.high)};
}

// Without telling the compiler that memory changes: nobody else looks at these words meanwhile.
__device__ __forceinline__ uint32_t load_shared(uint32_t at) {
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at));
  return word;
}
__device__ __forceinline__ void store_shared(uint32_t at, uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word));
}

struct RowNorm {
  float mean, rstd;
};

// From the moments of a row's parts. Means are taken from the first one on, so that a large one
// does not cost digits.
__device__ inline RowNorm norm_of(const RowMoments& moments, int channels, int64_t row) {
  constexpr auto kEpsilon = static_cast<float>(kNormEpsilon);
  const auto* const parts = reinterpret_cast<const float2*>(moments.data + row * moments.parts);
  const float origin = parts[0].x, share = 1.0f / static_cast<float>(channels);
  float sum = 0, squares = 0;
#pragma unroll 16  // asked for at once
  for (int i = 0; i < moments.parts; ++i) {
    const float2 part = parts[i];
    const auto width = static_cast<float>(min(moments.width, channels - i * moments.width));
    const float away = part.x - origin;
    sum += width * away;
    squares += part.y + width * away * away;
  }
  const float mean = sum * share;
  return {origin + mean, rsqrtf(fmaxf(squares * share - mean * mean, 0.0f) + kEpsilon)};
}

// A warpgroup's sums. Thread t has row 16 (t / 32) + t % 32 / 4 and the eighth behind it, and of
// each eight columns two: 2 (t % 4) and the next.
template <class Tile, Finish kFinish>
struct TileSums {
  using T = typename Tile::Element;
  static constexpr bool kAdded = kFinish == Finish::kAdded, kNormed = !kAdded;
  static constexpr bool kGelu = kFinish == Finish::kNormedGelu;
  float at[Tile::kColumns / 2];

  static __device__ __forceinline__ int own_row() {
    return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  }

  // Rows from `row` on, to `staging`, where the residual is. `norms` are of these rows; `columns`
  // have bias and sum of weights of two columns.
  __device__ __forceinline__ void finish(const HopperProduct& p, int row, int first_column,
                                         const RowNorm* norms, const float4* columns,
                                         uint32_t staging) {
    const int lane = threadIdx.x % 4, mine = own_row();
    RowNorm norm[2];
    float total[2] = {};
#pragma unroll
    for (int half = 0; kNormed && half < 2; ++half) norm[half] = norms[mine + 8 * half];
    // Words of a few columns are asked for together: a warp has nobody to wait in turns with.
    constexpr int kEights = Tile::kColumns / 8, kAtOnce = kEights <= 8 ? kEights : 4;
#pragma unroll
    for (int first = 0; first < kEights; first += kAtOnce) {
      float4 column[kAtOnce];
      uint32_t residual[kAtOnce][2];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        column[i] = columns[4 * (first + i) + lane];
#pragma unroll
        for (int half = 0; kAdded && half < 2; ++half) {
          residual[i][half] = load_shared(word_at(staging, first + i, half));
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float& low = at[4 * (first + i) + 2 * half];
          float& high = at[4 * (first + i) + 2 * half + 1];
          if constexpr (kNormed) {
            const float rstd = norm[half].rstd, offset = -rstd * norm[half].mean;
            low = low * rstd + (offset * column[i].z + column[i].x);
            high = high * rstd + (offset * column[i].w + column[i].y);
            if constexpr (kGelu) low = gelu_tanh(low), high = gelu_tanh(high);
            store_shared(word_at(staging, first + i, half), pack(T{}, low, high));
          } else {
            const float2 more = unpacked<T>(residual[i][half]);
            const uint32_t word =
                pack(T{}, low + column[i].x + more.x, high + column[i].y + more.y);
            store_shared(word_at(staging, first + i, half), word);
            const float2 stored = unpacked<T>(word);  // what the next layer finds
            low = stored.x, high = stored.y;
            total[half] += low + high;
          }
        }
      }
    }
    if constexpr (kAdded) store_moments(p, total, row + mine, first_column);
  }

 private:
  // Where this thread's two columns of the i-th eight are, of its first row or its second.
  static __device__ __forceinline__ uint32_t word_at(uint32_t staging, int i, int half) {
    constexpr int kPieces = Tile::kBoxColumns / 8;
    const int mine = own_row(), exchange = Tile::kExchanged ? mine / 2 % 4 : 0;
    return staging + i / kPieces * Tile::kBoxBytes + (mine + 8 * half) * Tile::kResultRow +
           (i % kPieces ^ exchange) * 16 + 4 * (threadIdx.x % 4);
  }

  // Of both rows at once, so that one's exchanges hide the other's.
  __device__ __forceinline__ void store_moments(const HopperProduct& p, const float (&total)[2],
                                                int row, int first_column) const {
    const int there = min(Tile::kColumns, static_cast<int>(p.result_channels) - first_column);
    const float share = 1.0f / static_cast<float>(max(there, 1));
    const float mean[2] = {quad_sum(total[0]) * share, quad_sum(total[1]) * share};
    float squares[2] = {};
    const auto add_squares = [&](auto is_there) {
#pragma unroll
      for (int i = 0; i < Tile::kColumns / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float away = at[4 * i + j] - mean[j / 2];
          squares[j / 2] += is_there(8 * i + j % 2) ? away * away : 0.0f;
        }
      }
    };
    if (there == Tile::kColumns) {
      add_squares([](int) { return true; });
    } else {
      add_squares(
          [&](int column) { return column + 2 * (static_cast<int>(threadIdx.x) % 4) < there; });
    }
    const float all[2] = {quad_sum(squares[0]), quad_sum(squares[1])};
    if (threadIdx.x % 4 != 0 || there <= 0) return;
    const RowMoments& to = p.result_moments;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row + 8 * half >= p.rows) break;
      to.data[static_cast<int64_t>(row + 8 * half) * to.parts + first_column / Tile::kColumns] = {
          mean[half], all[half]};
    }
  }
};

}  // namespace perceiver::hopper
