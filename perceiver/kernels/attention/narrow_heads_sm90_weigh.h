// The softmax of attention_narrow: 2^(scale score - origin), with the largest of the first scores
// as the origin for all. Weights up to 2^64 lose nothing in bfloat16 and in sums of float32, so the
// scores that follow need no look at their largest; a row that goes beyond is computed once more by
// narrow_heads_sm90_careful.h. For .cu files only.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "perceiver/kernels/cuda/quad.h"

namespace perceiver::narrow {

// Of sixteen powers so many are computed by a polynomial: the unit for powers gives sixteen a
// clock, and is what this kernel waits for.
inline constexpr int kPolynomials = 2;

inline constexpr float kMostWeight = 0x1p64f;

// Float16 ends at 2^16: there the origin is a little above the largest.
template <typename T>
inline constexpr float kHeadroom = std::is_same_v<T, __half> ? 6.0f : 0.0f;

__device__ __forceinline__ float power_by_unit(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Powers between 2^kLeast and 2^(kLeast + kSpan); beyond, the nearest of these.
inline constexpr float kLeast = -127.0f, kSpan = 224.0f;

// What takes a score to powers of two, for a row.
struct Powers {
  float scale, part_scale;  // in units of one, and of kSpan from kLeast on
  float start, part_start;

  __device__ __forceinline__ void set(float scale_log2, float origin) {
    scale = scale_log2, part_scale = scale_log2 * (1 / kSpan);
    start = -origin, part_start = (-origin - kLeast) * (1 / kSpan);
  }
  __device__ __forceinline__ float by_unit(float score) const {
    return power_by_unit(fmaf(score, scale, start));
  }
  // 2^r of the distance r to the nearest integer, with an error of 1e-4, and the integer added to
  // the exponent. A float32 near kShift has the integer in its lowest bits.
  __device__ __forceinline__ float by_polynomial(float score) const {
    constexpr float kShift = 0x1.8p23f + kLeast;
    float part;
    asm("fma.rn.ftz.sat.f32 %0, %1, %2, %3;"
        : "=f"(part)
        : "f"(score), "f"(part_scale), "f"(part_start));
    const float shifted = fmaf(part, kSpan, kShift);
    const float r = fmaf(part, kSpan, kShift - shifted);
    const float power = fmaf(fmaf(fmaf(0.055008970f, r, 0.24221106f), r, 0.69328293f), r, 1.0f);
    return __int_as_float(__float_as_int(power) + (__float_as_int(shifted) << 23));
  }
};

// Of a warpgroup's scores, of which a thread has two rows, those of sixteen keys become weights, as
// factors of a product.
template <typename T, int kCount>
__device__ __forceinline__ void weigh(uint32_t (&weights)[4], const float (&scores)[kCount],
                                      int which, const Powers& low, const Powers& high) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float w[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int at = 8 * which + 2 * i + j;
      const Powers& row = i % 2 == 0 ? low : high;
      const bool by_polynomial = at * kPolynomials % 16 < kPolynomials;
      w[j] = by_polynomial ? row.by_polynomial(scores[at]) : row.by_unit(scores[at]);
    }
    weights[i] = hopper::pack(T{}, w[0], w[1]);
  }
}

// The largest score of each of a thread's two rows.
template <int kCount>
__device__ __forceinline__ void largest(const float (&scores)[kCount], float& low, float& high) {
  low = fmaxf(scores[0], scores[1]), high = fmaxf(scores[2], scores[3]);
#pragma unroll
  for (int i = 4; i < kCount; i += 4) {
    low = fmaxf(low, fmaxf(scores[i], scores[i + 1]));
    high = fmaxf(high, fmaxf(scores[i + 2], scores[i + 3]));
  }
  low = hopper::quad_max(low), high = hopper::quad_max(high);
}

}  // namespace perceiver::narrow
