// Functions of a quad: the four neighbouring threads that hold a row of a matrix product's sums.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace perceiver::hopper {

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

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

// Two neighbouring elements; the first argument says of which type.
__device__ __forceinline__ uint32_t pack(__nv_bfloat16, float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

__device__ __forceinline__ uint32_t pack(__half, float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

}  // namespace perceiver::hopper
