// What happens to a tile of product_hopper when its sums are complete. For device code of sm_90a
// alone.
#pragma once

#include "perceiver/kernels/cuda/matrix_product.h"
#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/product_hopper.h"
#include "perceiver/kernels/cuda/product_hopper_tile.h"
#include "perceiver/kernels/cuda/quad.h"

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
  constexpr float kEpsilon = 1e-5f;
  const auto* const parts = reinterpret_cast<const float2*>(moments.data + row * moments.parts);
  const float origin = parts[0].x, share = 1.0f / static_cast<float>(channels);
  float sum = 0, squares = 0;
#pragma unroll 8  // asked for at once
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

  // A quad has two rows; every second of its threads asks for the norm of the same one.
  static __device__ __forceinline__ RowNorm norm_for_quad(const HopperProduct& p, int first_row) {
    const int row = first_row + own_row() + threadIdx.x % 2 * 8;
    return row < p.rows ? norm_of(p.x_moments, static_cast<int>(p.x_channels), row) : RowNorm{};
  }

  // Rows from `row` on, to `staging`, where the residual is. `columns` have bias and sum of weights
  // of two columns.
  __device__ __forceinline__ void finish(const HopperProduct& p, int row, int first_column,
                                         RowNorm asked_for, const float4* columns,
                                         uint32_t staging) {
    constexpr int kPieces = Tile::kBoxColumns / 8;
    const int lane = threadIdx.x % 4, mine = own_row();
    const int exchange = Tile::kExchanged ? mine / 2 % 4 : 0;
    RowNorm norm[2];
    float total[2] = {};
#pragma unroll
    for (int half = 0; kNormed && half < 2; ++half) {
      norm[half] = {__shfl_sync(kAllLanes, asked_for.mean, half, 4),
                    __shfl_sync(kAllLanes, asked_for.rstd, half, 4)};
    }
#pragma unroll
    for (int i = 0; i < Tile::kColumns / 8; ++i) {
      const float4 column = columns[4 * i + lane];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t to = staging + i / kPieces * Tile::kBoxBytes +
                            (mine + 8 * half) * Tile::kResultRow + (i % kPieces ^ exchange) * 16 +
                            4 * lane;
        float& low = at[4 * i + 2 * half];
        float& high = at[4 * i + 2 * half + 1];
        if constexpr (kNormed) {
          const float rstd = norm[half].rstd, offset = -rstd * norm[half].mean;
          low = low * rstd + (offset * column.z + column.x);
          high = high * rstd + (offset * column.w + column.y);
          if constexpr (kGelu) low = gelu_tanh(low), high = gelu_tanh(high);
          store_shared(to, pack(T{}, low, high));
        } else {
          const float2 residual = unpacked<T>(load_shared(to));
          const uint32_t word =
              pack(T{}, low + column.x + residual.x, high + column.y + residual.y);
          store_shared(to, word);
          const float2 stored = unpacked<T>(word);  // what the next layer finds
          low = stored.x, high = stored.y;
          total[half] += low + high;
        }
      }
    }
#pragma unroll
    for (int half = 0; kAdded && half < 2; ++half) {
      store_moments(p, half, total[half], row + mine + 8 * half, first_column);
    }
  }

 private:
  __device__ __forceinline__ void store_moments(const HopperProduct& p, int half, float total,
                                                int row, int first_column) const {
    const int there = min(Tile::kColumns, static_cast<int>(p.result_channels) - first_column);
    const float mean = quad_sum(total) / static_cast<float>(max(there, 1));
    float squares = 0;
    const auto add_squares = [&](auto is_there) {
#pragma unroll
      for (int i = 0; i < Tile::kColumns / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const float away = at[4 * i + 2 * half + j] - mean;
          squares += is_there(8 * i + j) ? away * away : 0.0f;
        }
      }
    };
    if (there == Tile::kColumns) {
      add_squares([](int) { return true; });
    } else {
      add_squares(
          [&](int column) { return column + 2 * (static_cast<int>(threadIdx.x) % 4) < there; });
    }
    squares = quad_sum(squares);
    if (threadIdx.x % 4 != 0 || row >= p.rows || there <= 0) return;
    const RowMoments& to = p.result_moments;
    to.data[static_cast<int64_t>(row) * to.parts + first_column / Tile::kColumns] = {mean, squares};
  }
};

}  // namespace perceiver::hopper
