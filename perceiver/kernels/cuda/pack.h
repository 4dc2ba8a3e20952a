// Device code shared by kernels that are bound by memory: accesses of up to 16 bytes, of any dtype,
// and float32 arithmetic in between. For .cu files only.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "perceiver/kernels/cuda/dtype.h"

namespace perceiver {

// Intrinsics and no casts: LibTorch's flags turn the casts of half types off.
__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }

template <typename T>
__device__ inline T from_float(float x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __float2bfloat16_rn(x);
  if constexpr (std::is_same_v<T, __half>) return __float2half_rn(x);
  if constexpr (std::is_same_v<T, float>) return x;
}

template <typename T, int V>
struct alignas(V * sizeof(T)) Pack {
  static_assert(V * sizeof(T) <= 16);
  T at[V];
};

// V elements in as few accesses as there can be; `from` and `to` are aligned to 16 bytes, or to all
// of the elements together where those are fewer.
template <int V, typename T>
__device__ inline void load_pack(const T* from, float (&to)[V]) {
  constexpr int kTogether = V * sizeof(T) > 16 ? 16 / sizeof(T) : V;
#pragma unroll
  for (int i = 0; i < V; i += kTogether) {
    const auto pack = *reinterpret_cast<const Pack<T, kTogether>*>(from + i);
#pragma unroll
    for (int j = 0; j < kTogether; ++j) to[i + j] = to_float(pack.at[j]);
  }
}

template <int V, typename T>
__device__ inline void store_pack(T* to, const float (&from)[V]) {
  constexpr int kTogether = V * sizeof(T) > 16 ? 16 / sizeof(T) : V;
#pragma unroll
  for (int i = 0; i < V; i += kTogether) {
    Pack<T, kTogether> pack;
#pragma unroll
    for (int j = 0; j < kTogether; ++j) pack.at[j] = from_float<T>(from[i + j]);
    *reinterpret_cast<Pack<T, kTogether>*>(to + i) = pack;
  }
}

// Every lane gets the sum; the order is fixed, so the bits are too.
__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Calls f with a null pointer of the C++ type of `dtype`.
template <typename Function>
void with_dtype(CudaDtype dtype, Function f) {
  switch (dtype) {
    case CudaDtype::kFloat32:
      return f(static_cast<float*>(nullptr));
    case CudaDtype::kBFloat16:
      return f(static_cast<__nv_bfloat16*>(nullptr));
    case CudaDtype::kFloat16:
      return f(static_cast<__half*>(nullptr));
  }
}

inline bool is_aligned(const void* pointer, size_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

}  // namespace perceiver
