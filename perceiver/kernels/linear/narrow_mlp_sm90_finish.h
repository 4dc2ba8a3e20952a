// What happens to the sums of narrow_mlp_hopper's first layer: LayerNorm, GELU, the second layer.
// For device code of sm_90a alone.
#pragma once

#include <type_traits>

#include "perceiver/kernels/linear/narrow_mlp_sm90.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_rows.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_tile.h"

namespace perceiver::hopper {

// GELU of rstd * x, times 2 / rstd, is x (1 + tanh u). The quick tanh has eleven digits, more than
// bfloat16 would keep of the result.
template <typename T>
struct ScaledGelu {
  static constexpr bool kQuick = std::is_same_v<T, __nv_bfloat16>;
  float linear, cubic;

  static constexpr float kRoot = 0.79788456f, kLog2e = 1.4426950f;
  static constexpr float kScale = kQuick ? kRoot : -2 * kLog2e * kRoot;

  __device__ __forceinline__ explicit ScaledGelu(float rstd)
      : linear(kScale * rstd), cubic(0.044715f * linear * rstd * rstd) {}
  __device__ __forceinline__ float rstd() const { return linear * (1 / kScale); }
  // Of several numbers at once, so that none waits for another.
  template <int kCount>
  static __device__ __forceinline__ void apply(float (&x)[kCount], const ScaledGelu (&of)[2]) {
    float y[kCount];
    const auto each = [&](auto f) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) f(x[i], y[i], of[i / 2 % 2]);
    };
    each([](float v, float& u, const ScaledGelu&) { u = v * v; });
    each([](float, float& u, const ScaledGelu& g) { u = g.linear + g.cubic * u; });
    each([](float v, float& u, const ScaledGelu&) { u *= v; });
    if constexpr (kQuick) {
      each([](float, float& u, const ScaledGelu&) {
        asm("tanh.approx.f32 %0, %1;" : "=f"(u) : "f"(u));
      });
      each([](float& v, float u, const ScaledGelu&) { v += v * u; });
    } else {
      each([](float, float& u, const ScaledGelu&) {
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(u) : "f"(u));
      });
      each([](float, float& u, const ScaledGelu&) { u = 0.5f + 0.5f * u; });
      each([](float, float& u, const ScaledGelu&) {
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(u) : "f"(u));
      });
      each([](float& v, float u, const ScaledGelu&) { v *= u; });
    }
  }
};

// Sums of the second layer over a thread's hidden channels, for its two rows.
template <class Tile>
struct MlpOutputs {
  using T = typename Tile::Element;
  static constexpr int kOutputs = Tile::kOutputs;
  float at[2][kOutputs] = {};

  // `narrow` from the part's first two hidden channels on.
  template <int kSums>
  __device__ __forceinline__ void add(const float (&sums)[kSums], const ScaledGelu<T> (&gelu)[2],
                                      const float* narrow) {
    constexpr int kFloats = Tile::Narrow::kFloats;
    constexpr int kTogether = 2;
#pragma unroll
    for (int i = 0; i < kSums / 4; i += kTogether) {
      float x[4 * kTogether] = {}, weights[kTogether][kFloats];
#pragma unroll
      for (int k = 0; k < kTogether && i + k < kSums / 4; ++k) {
#pragma unroll
        for (int j = 0; j < 4; ++j) x[4 * k + j] = sums[4 * (i + k) + j];
#pragma unroll
        for (int j = 0; j < kFloats; j += 4) {
          reinterpret_cast<float4&>(weights[k][j]) = *reinterpret_cast<const float4*>(
              narrow + (4 * (i + k) + threadIdx.x % 4) * kFloats + j);
        }
      }
      ScaledGelu<T>::apply(x, gelu);
#pragma unroll
      for (int k = 0; k < kTogether && i + k < kSums / 4; ++k) {
#pragma unroll
        for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
          for (int j = 0; j < 4; ++j) at[j / 2][o] += x[4 * k + j] * weights[k][2 * o + j % 2];
        }
      }
    }
  }

  // Thread j of a quad gets row j / 2's outputs j % 2, j % 2 + 2, ...
  __device__ __forceinline__ void share_out(const ScaledGelu<T> (&gelu)[2],
                                            float (&total)[kOutputs / 2]) const {
    const bool lower = threadIdx.x & 2, odd = threadIdx.x & 1;
    const float rstd = lower ? gelu[1].rstd() : gelu[0].rstd();
#pragma unroll
    for (int i = 0; i < kOutputs / 2; ++i) {
      float row[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float upper_one = at[0][2 * i + j], lower_one = at[1][2 * i + j];
        const float got = __shfl_xor_sync(kAllLanes, lower ? upper_one : lower_one, 2);
        row[j] = (lower ? lower_one : upper_one) + got;
      }
      const float got = __shfl_xor_sync(kAllLanes, odd ? row[0] : row[1], 1);
      total[i] = rstd * ((odd ? row[1] : row[0]) + got);
    }
  }
};

// The outputs of a row that a thread writes, and what is added to them.
template <class Tile>
struct MlpResult {
  using T = typename Tile::Element;
  static constexpr int kCount = Tile::kOutputs / 2;
  int64_t row;
  float riders[kCount];

  static __device__ __forceinline__ int output(int i) { return 2 * i + threadIdx.x % 2; }
  __device__ __forceinline__ bool is_there(const NarrowMlp& p, int i) const {
    return row < p.rows && output(i) < p.sizes.out;
  }

  // `first_row` of the thread's two.
  __device__ __forceinline__ void load_riders(const NarrowMlp& p, int64_t first_row) {
    row = first_row + threadIdx.x % 4 / 2 * 8;
    const T* const from = static_cast<const T*>(p.riders);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      riders[i] = from && is_there(p, i) ? to_float(from[row * p.riders_stride + output(i)]) : 0.0f;
    }
  }
  __device__ __forceinline__ void store(const NarrowMlp& p, const float (&total)[kCount],
                                        const float* bias) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (!is_there(p, i)) continue;
      static_cast<T*>(p.result)[row * p.result_stride + output(i)] =
          from_float<T>(total[i] + bias[output(i)] + riders[i]);
    }
  }
};

}  // namespace perceiver::hopper
