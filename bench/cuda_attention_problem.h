// Cases of attention_hopper with random arrays, for cuda_attention_bench.cu.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/cuda_buffer.h"
#include "perceiver/kernels/attention/wide_heads_sm90.h"

namespace perceiver {

struct Case {
  const char* name;
  int64_t batch, queries, keys, channels, stride;
  int splits = 0;
  int mask = 0;  // 1: half of the keys, 2: and none of the first batch
  bool keys_are_values = true;
  float spread = 2.0f;      // of the scores
  int64_t qk_channels = 0;  // where they are not as many as the values'

  int64_t qk() const { return qk_channels > 0 ? qk_channels : channels; }
};

__device__ inline uint32_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(x >> 32);
}

// Rows of `stride`. Behind their channels they get what a kernel must not read: NaN.
template <class T>
__global__ void fill_normal(T* out, int64_t count, int64_t channels, int64_t stride, float scale,
                            uint64_t seed) {
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const float u = (mix(2 * i + (seed << 40)) + 1.0f) * 2.3283064e-10f;
    const float v = mix(2 * i + 1 + (seed << 40)) * 2.3283064e-10f;
    const float normal = sqrtf(-2.0f * logf(fminf(u, 1.0f))) * cospif(2.0f * v);
    out[i] = static_cast<T>(i % stride < channels ? scale * normal : NAN);
  }
}

static __global__ void fill_mask(uint8_t* out, const Case c, uint64_t seed) {
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < c.batch * c.keys; i += gridDim.x * 256ll) {
    out[i] = !(c.mask == 2 && i / c.keys == 0) && (mix(i + (seed << 40)) & 1);
  }
}

constexpr int64_t kGuardRows = 4;  // behind the output: nothing is to be written there

// Random arrays of a case on the device.
template <class T>
struct Problem {
  HopperAttention a;
  std::vector<Buffer> buffers;

  void* keep(Buffer buffer) { return buffers.emplace_back(std::move(buffer)).get(); }

  T* normal(const Case& c, int64_t rows, int64_t channels, float scale, uint64_t seed) {
    const int64_t count = c.batch * rows * c.stride;
    T* data = static_cast<T*>(keep(device_bytes(count * sizeof(T))));
    fill_normal<T><<<2048, 256>>>(data, count, channels, c.stride, scale, seed);
    return data;
  }

  Problem(const Case& c, uint64_t seed, bool with_log_sum_exp) {
    a.bfloat16 = std::is_same_v<T, __nv_bfloat16>;
    a.batch = c.batch, a.queries = c.queries, a.keys = c.keys;
    a.qk_channels = c.qk(), a.v_channels = c.channels;
    a.q_row = a.k_row = a.v_row = a.out_row = c.stride;
    a.q_batch = a.out_batch = c.queries * c.stride;
    a.k_batch = a.v_batch = c.keys * c.stride;
    a.mask_batch = c.keys;
    a.scale = 1.0f / std::sqrt(static_cast<float>(c.qk()));
    a.splits = c.splits;
    a.q = normal(c, c.queries, c.qk(), c.spread, seed + 1);
    a.k = normal(c, c.keys, c.qk(), 1.0f, seed + 2);
    a.v = c.keys_are_values ? a.k : normal(c, c.keys, c.channels, 1.0f, seed + 3);
    a.out = keep(device_bytes((c.batch * c.queries + kGuardRows) * c.stride * sizeof(T)));
    if (with_log_sum_exp) {
      a.log_sum_exp = static_cast<float*>(keep(device_bytes(c.batch * c.queries * sizeof(float))));
    }
    if (c.mask != 0) {
      uint8_t* mask = static_cast<uint8_t*>(keep(device_bytes(c.batch * c.keys)));
      fill_mask<<<256, 256>>>(mask, c, seed + 4);
      a.kv_mask = mask;
    }
    a.workspace = keep(device_bytes(attention_hopper_workspace(a)));
    if (const char* refusal = attention_hopper_refusal(a)) {
      std::printf("%s: refused, %s\n", c.name, refusal);
      std::exit(1);
    }
    CHECK(cudaDeviceSynchronize());
  }
};

}  // namespace perceiver
