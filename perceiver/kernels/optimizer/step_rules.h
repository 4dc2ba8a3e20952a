// Device code that the optimisers' kernels share: the rules' arithmetic and where an element's copy
// goes. For .cu files only.
#pragma once

#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/optimizer/optimizer_step.h"
#include "perceiver/kernels/optimizer/parameter_table.h"

namespace perceiver {

// FusedRule in the arithmetic of the kernels. The rests are taken in double: 1 - 0.999 in float32
// has only four good digits.
struct Rule {
  float beta1, rest1, beta2, rest2, epsilon, weight_decay;
  bool clips;

  explicit Rule(const FusedRule& r)
      : beta1(static_cast<float>(r.beta1)),
        rest1(static_cast<float>(1.0 - r.beta1)),
        beta2(static_cast<float>(r.beta2)),
        rest2(static_cast<float>(1.0 - r.beta2)),
        epsilon(static_cast<float>(r.epsilon)),
        weight_decay(static_cast<float>(r.weight_decay)),
        clips(r.clip > 0) {}
};

// What gradients are divided by, in each kernel that reads them.
struct Divisor {
  const float* at;  // null: 1
  __device__ float get() const { return at != nullptr ? *at : 1.0f; }
};

// Which products are rounded is said here, lest two kernels differ.
__device__ __forceinline__ void move_moments(const Rule& rule, float g, float& m, float& v) {
  m = __fmaf_rn(rule.beta1, m, __fmul_rn(rule.rest1, g));
  v = __fmaf_rn(rule.rest2, __fmul_rn(g, g), __fmul_rn(rule.beta2, v));
}

// a / b, where `inverse` is nearly 1 / b: what the operator gives, without its branch for results
// that are hardly numbers. With those branches the arithmetic takes as long as memory.
__device__ __forceinline__ float quotient(float a, float b, float inverse) {
  float q = a * inverse;
#pragma unroll
  for (int i = 0; i < 2; ++i) q = __fmaf_rn(__fmaf_rn(-q, b, a), inverse, q);
  return q;
}

__device__ __forceinline__ float inverse_of(float b) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  return __fmaf_rn(__fmaf_rn(-b, r, 1.0f), r, r);
}

// sqrtf(x) of 0 and more, likewise. What is tiny is scaled; what is no number is taken as large.
__device__ __forceinline__ float root(float x) {
  const bool tiny = x < 0x1p-64f;
  const float a = fminf(tiny ? x * 0x1p96f : x, 0x1p126f);
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  const float s = a * y;
  const float better = __fmaf_rn(__fmaf_rn(-s, s, a), 0.5f * y, s);
  return a == 0 ? 0.0f : tiny ? better * 0x1p-48f : better;
}

// Adam's direction, both moments corrected for their start at zero.
struct AdamDirection {
  FusedRates rates;
  float epsilon, inverse1, inverse2;

  __device__ AdamDirection(const Rule& rule, const FusedRates& r)
      : rates(r),
        epsilon(rule.epsilon),
        inverse1(1.0f / r.correction1),
        inverse2(1.0f / r.root_correction2) {}
  __device__ __forceinline__ float of(float m, float v) const {
    const float size = quotient(root(v), rates.root_correction2, inverse2) + epsilon;
    return quotient(quotient(m, rates.correction1, inverse1), size, inverse_of(size));
  }
};

// Where the bfloat16 copies of a tensor's elements go, from one of them on.
struct NarrowCopy {
  __nv_bfloat16* at;  // null: nowhere
  unsigned begin, channels, stride;

  __device__ __forceinline__ NarrowCopy(const FusedEntry& entry, int64_t begin)
      : at(reinterpret_cast<__nv_bfloat16*>(entry.narrow)),
        begin(static_cast<unsigned>(begin)),
        channels(static_cast<unsigned>(entry.narrow_channels)),
        stride(static_cast<unsigned>(entry.narrow_stride)) {}
  NarrowCopy() = default;

  template <int V>
  __device__ __forceinline__ void put(int i, const float (&w)[V]) const {
    if (at == nullptr) return;
    __builtin_assume(__isGlobal(at));
    const unsigned from = begin + i;
    if (channels == 0) {
      put_row(at + from, w);
    } else if (V > 1 && channels % V == 0) {
      put_row(at + place_of(from), w);
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) at[place_of(from + j)] = __float2bfloat16_rn(w[j]);
    }
  }

 private:
  __device__ __forceinline__ size_t place_of(unsigned i) const {
    return size_t{i / channels} * stride + i % channels;
  }
  template <int V>
  __device__ __forceinline__ static void put_row(__nv_bfloat16* to, const float (&w)[V]) {
    if (reinterpret_cast<uintptr_t>(to) % (V * sizeof *to) == 0) {
      store_pack(to, w);
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) to[j] = __float2bfloat16_rn(w[j]);
    }
  }
};

}  // namespace perceiver
