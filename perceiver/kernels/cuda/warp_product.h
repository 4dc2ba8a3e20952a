// Matrix products of one warp, and how their operands come out of shared memory: the instructions
// that every GPU since sm_80 has. For .cu files only.
//
// A tile of 16 x 8 sums lies in a warp as follows: lane 4 g + t has columns 2t and 2t + 1 of rows g
// (sums 0 and 1) and g + 8 (sums 2 and 3). A tile of 16 x 16 factors is four registers of two
// elements each: rows g and g + 8 at columns 2t, 2t + 1, then the same at columns 8 further on.
// Two neighbouring tiles of sums, rounded, are thus a tile of factors.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace perceiver {

// sums [16, 8] += a [16, 16] b [16, 8]
template <typename T>
__device__ inline void multiply_add(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Four matrices of 8 x 8; lane i names the row i % 8 of matrix i / 8, which has 16 bytes.
__device__ inline void load_matrices(uint32_t (&to)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row));
}

__device__ inline void load_matrices(uint32_t (&to)[4], const void* row) {
  load_matrices(to, shared_address(row));
}

// Each of them turned around its diagonal.
__device__ inline void load_turned_matrices(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row)));
}

// The places that a lane names for the four matrices of a 16 x 16 block, `stride` elements a row:
// the left two from the top, then the right two; or the upper two from the left, then the lower.
__device__ inline int matrices_down(int lane, int stride) {
  return (lane % 16) * stride + lane / 16 * 8;
}
__device__ inline int matrices_across(int lane, int stride) {
  return (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8;
}

template <typename T>
__device__ inline uint32_t pack_pair(float low, float high) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }
}

// Two neighbouring tiles of sums as a tile of factors.
template <typename T>
__device__ inline void round_to_factors(uint32_t (&to)[4], const float (&left)[4],
                                        const float (&right)[4]) {
  to[0] = pack_pair<T>(left[0], left[1]), to[1] = pack_pair<T>(left[2], left[3]);
  to[2] = pack_pair<T>(right[0], right[1]), to[3] = pack_pair<T>(right[2], right[3]);
}

// 16 bytes to an address in shared memory, without waiting; zeros where there is nothing.
__device__ inline void copy_ahead(uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from),
               "r"(there ? 16 : 0));
}

__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;\n" ::: "memory"); }

}  // namespace perceiver
