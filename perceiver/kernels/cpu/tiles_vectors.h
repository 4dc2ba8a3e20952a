// Vectors of the instruction set that the includer is compiled for. Nothing of the standard library
// is used here, nor in the files that include it: the linker keeps one copy of an inline function,
// and it might keep the one that only this instruction set can run.
#pragma once

#include <stdint.h>
#include <string.h>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#include "perceiver/kernels/cpu/tiles.h"
#include "perceiver/kernels/norm/epsilon.h"

#ifndef __clang__  // GCC 12 says it of its own intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace perceiver {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kTileRows = 8;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kTileRows = 4;
#else
constexpr int kVectorBytes = 16, kTileRows = 4;
#endif
constexpr int kLanes = kVectorBytes / 4;
constexpr auto kEpsilon = static_cast<float>(kNormEpsilon);

typedef float Vec __attribute__((vector_size(kVectorBytes)));
typedef int32_t IntVec __attribute__((vector_size(kVectorBytes)));
typedef uint32_t BitVec __attribute__((vector_size(kVectorBytes)));  // whose sums may overflow
// The same at any address, over any type.
typedef float LooseVec __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef uint16_t HalfVec __attribute__((vector_size(kVectorBytes / 2)));
typedef uint16_t LooseHalfVec __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const LooseVec*>(p); }
inline void store(float* p, Vec x) { *reinterpret_cast<LooseVec*>(p) = x; }
inline Vec all(float x) { return x - Vec{}; }
#if defined(__AVX512F__)
inline Vec larger(Vec a, Vec b) { return _mm512_max_ps(a, b); }
#elif defined(__AVX2__)
inline Vec larger(Vec a, Vec b) { return _mm256_max_ps(a, b); }
#else
inline Vec larger(Vec a, Vec b) { return a > b ? a : b; }
#endif
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

inline Vec load(const Bf16* p) {
  const HalfVec half = *reinterpret_cast<const LooseHalfVec*>(p);
  return reinterpret_cast<Vec>(__builtin_convertvector(half, IntVec) << 16);
}

#ifdef __AVX512BF16__
inline void store(Bf16* p, Vec x) {
  const __m256bh rounded = _mm512_cvtneps_pbh(x);
  memcpy(p, &rounded, sizeof(rounded));
}
#endif

inline float one(const float* p) { return *p; }
inline float one(const Bf16* p) {
  const uint32_t bits = static_cast<uint32_t>(p->bits) << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
inline void put(float* p, float x) { *p = x; }
inline void put(Bf16* p, float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  p->bits = static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline float sum_of(Vec x) {
#ifdef __AVX512F__
  return _mm512_reduce_add_ps(x);
#endif
  float sum = 0.0f;
  for (int i = 0; i < kLanes; ++i) sum += x[i];
  return sum;
}

inline float largest_of(Vec x) {
#ifdef __AVX512F__
  return _mm512_reduce_max_ps(x);
#endif
  float largest = x[0];
  for (int i = 1; i < kLanes; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

}  // namespace
}  // namespace perceiver
