// The warpgroup's matrix product, sums [64, kN] += A [64, 16] B [16, kN], for the sizes in use.
// Sums of thread t of 128: row 16 (t / 32) + t % 32 / 4 (+ 8 for the third and fourth of each
// four), columns 8 i + 2 (t % 4) and the next.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace perceiver::hopper {

// clang-format off
#define PERCEIVER_SUMS_4(d, i)                                                            \
  "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3])
#define PERCEIVER_SUMS_8(d, i) PERCEIVER_SUMS_4(d, i), PERCEIVER_SUMS_4(d, i + 4)
#define PERCEIVER_SUMS_16(d, i)                                                           \
  PERCEIVER_SUMS_4(d, i), PERCEIVER_SUMS_4(d, i + 4), PERCEIVER_SUMS_4(d, i + 8),         \
      PERCEIVER_SUMS_4(d, i + 12)
#define PERCEIVER_SUMS_20(d, i) PERCEIVER_SUMS_16(d, i), PERCEIVER_SUMS_4(d, i + 16)
#define PERCEIVER_SUMS_32(d, i) PERCEIVER_SUMS_16(d, i), PERCEIVER_SUMS_16(d, i + 16)
#define PERCEIVER_SUMS_36(d, i) PERCEIVER_SUMS_32(d, i), PERCEIVER_SUMS_4(d, i + 32)
#define PERCEIVER_SUMS_48(d, i) PERCEIVER_SUMS_32(d, i), PERCEIVER_SUMS_16(d, i + 32)
#define PERCEIVER_SUMS_52(d, i) PERCEIVER_SUMS_48(d, i), PERCEIVER_SUMS_4(d, i + 48)
#define PERCEIVER_SUMS_56(d, i) PERCEIVER_SUMS_52(d, i), PERCEIVER_SUMS_4(d, i + 52)
#define PERCEIVER_SUMS_64(d, i) PERCEIVER_SUMS_32(d, i), PERCEIVER_SUMS_32(d, i + 32)
#define PERCEIVER_SUMS_80(d, i) PERCEIVER_SUMS_64(d, i), PERCEIVER_SUMS_16(d, i + 64)
#define PERCEIVER_SUMS_96(d, i) PERCEIVER_SUMS_48(d, i), PERCEIVER_SUMS_48(d, i + 48)
#define PERCEIVER_SUMS_128(d, i) PERCEIVER_SUMS_96(d, i), PERCEIVER_SUMS_32(d, i + 96)
#define PERCEIVER_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define PERCEIVER_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define PERCEIVER_NAMES_20 PERCEIVER_NAMES_16 ", %16, %17, %18, %19"
#define PERCEIVER_NAMES_32 \
  PERCEIVER_NAMES_16 \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define PERCEIVER_NAMES_36 \
  PERCEIVER_NAMES_32 \
  ", %32, %33, %34, %35"
#define PERCEIVER_NAMES_48 \
  PERCEIVER_NAMES_36 \
  ", %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define PERCEIVER_NAMES_52 \
  PERCEIVER_NAMES_48 \
  ", %48, %49, %50, %51"
#define PERCEIVER_NAMES_56 \
  PERCEIVER_NAMES_52 \
  ", %52, %53, %54, %55"
#define PERCEIVER_NAMES_64 \
  PERCEIVER_NAMES_48 \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define PERCEIVER_NAMES_80 \
  PERCEIVER_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define PERCEIVER_NAMES_96 \
  PERCEIVER_NAMES_80 \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define PERCEIVER_NAMES_128 \
  PERCEIVER_NAMES_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// A from shared memory, as B: both with rows along the outer dimension. R = N / 2 sums; what
// follows them are the numbers of the operands behind the sums.
#define PERCEIVER_WGMMA_SHARED(N, R, A, B, ADD, TYPE)                                          \
  asm volatile(                                                                                \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                          \
      " {" PERCEIVER_NAMES_##R "}, %" #A ", %" #B ", add, 1, 1, 0, 0;\n}\n"                    \
      : PERCEIVER_SUMS_##R(sums, 0) : "l"(a), "l"(b), "r"(add))

// A from registers; B with rows along the inner dimension where it is TURNED.
#define PERCEIVER_WGMMA_REGISTERS(TURNED, N, R, A0, A1, A2, A3, B, ADD, TYPE)                  \
  asm volatile(                                                                                \
      "{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                          \
      " {" PERCEIVER_NAMES_##R "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B             \
      ", add, 1, 1, " #TURNED ";\n}\n"                                                         \
      : PERCEIVER_SUMS_##R(sums, 0)                                                            \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))

#define PERCEIVER_BY_TYPE(PRODUCT, ...)                                                        \
  do {                                                                                         \
    if constexpr (std::is_same_v<T, __nv_bfloat16>) PRODUCT(__VA_ARGS__, "bf16");              \
    else PRODUCT(__VA_ARGS__, "f16");                                                          \
  } while (0)

// sums (+)= A B^T; a and b are inner_descriptors. Without `add` the sums start from zero.
template <typename T, int kN>
__device__ __forceinline__ void product(float* sums, uint64_t a, uint64_t b, int add) {
  static_assert(kN == 40 || kN == 64 || kN == 96 || kN == 192,
                "add the size to the list");
  if constexpr (kN == 40) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_SHARED, 40, 20, 20, 21, 22);
  if constexpr (kN == 64) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_SHARED, 64, 32, 32, 33, 34);
  if constexpr (kN == 192) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_SHARED, 192, 96, 96, 97, 98);
  if constexpr (kN == 96) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_SHARED, 96, 48, 48, 49, 50);
}

// sums (+)= A B; b is an outer_descriptor. A is four pairs: (row, first pair of columns), (row + 8,
// first), (row, pair 8 columns on), (row + 8, that one); rows and columns as those of the sums.
template <typename T, int kN>
__device__ __forceinline__ void product(float* sums, const uint32_t (&a)[4], uint64_t b, int add) {
  static_assert(kN == 72 || kN == 192 || kN == 256, "add the size to the list");
  if constexpr (kN == 72) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 1, 72, 36, 36, 37, 38, 39, 40, 41);
  if constexpr (kN == 192) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 1, 192, 96, 96, 97, 98, 99, 100, 101);
  if constexpr (kN == 256) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 1, 256, 128, 128, 129, 130, 131, 132, 133);
}

// sums (+)= A B^T; A as above, b as an inner_descriptor.
template <typename T, int kN>
__device__ __forceinline__ void product_with_rows(float* sums, const uint32_t (&a)[4], uint64_t b, int add) {
  static_assert(kN == 104 || kN == 112, "add the size to the list");
  if constexpr (kN == 104) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 0, 104, 52, 52, 53, 54, 55, 56, 57);
  if constexpr (kN == 112) PERCEIVER_BY_TYPE(PERCEIVER_WGMMA_REGISTERS, 0, 112, 56, 56, 57, 58, 59, 60, 61);
}
// clang-format on

}  // namespace perceiver::hopper
