// Hopper's own instructions, as functions: barriers that count bytes, the copy engine that fills
// tiles of shared memory, and the descriptors and fences of the warpgroup's matrix product.
// For device code of sm_90a alone.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace perceiver::hopper {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// A barrier in shared memory, given by its address. A phase is over when all arrivals and all
// bytes it was told to expect are in; phases are told apart by one bit.
__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers known to the copy engine.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(barrier),
      "r"(phase)
      : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_arrive_and_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

// Starts the copy of a box of `map`, at (channel, row, batch), to shared memory; elements outside
// the array arrive as zeros.
__device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap* map, int channel, int row,
                                         int batch, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(map), "r"(channel), "r"(row), "r"(batch), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Where a tile of a matrix product lies in shared memory. Rows of 128 or 32 bytes, swizzled.
enum class Swizzle : uint32_t { k128 = 1, k32 = 3 };

// `leading` and `stride`, in bytes, as in PTX's "matrix descriptor"; the start, a multiple of 16,
// is to be added: it sits in the lowest bits and never carries out of them.
__host__ __device__ constexpr uint64_t descriptor_of(Swizzle swizzle, uint32_t leading) {
  const uint32_t stride = swizzle == Swizzle::k128 ? 1024 : 256;  // eight rows
  return (static_cast<uint64_t>(swizzle) << 62) | (static_cast<uint64_t>(stride >> 4) << 32) |
         (static_cast<uint64_t>(leading >> 4) << 16);
}

// Rows are along the product's outer dimension, their bytes along its inner one; blocks of eight
// rows follow each other. The leading offset has no meaning then.
template <Swizzle kSwizzle>
__device__ __forceinline__ uint64_t inner_descriptor(uint32_t start16, uint32_t offset) {
  constexpr uint64_t kConstant = descriptor_of(kSwizzle, 16);
  return (kConstant & ~0xffffffffull) |
         (start16 + (offset >> 4) + static_cast<uint32_t>(kConstant));
}

// Rows are along the inner dimension, and each holds 64 or 16 elements of the outer one; the next
// elements of the outer one are `kAtom` bytes further.
template <Swizzle kSwizzle, uint32_t kAtom>
__device__ __forceinline__ uint64_t outer_descriptor(uint32_t start16, uint32_t offset) {
  constexpr uint64_t kConstant = descriptor_of(kSwizzle, kAtom);
  return (kConstant & ~0xffffffffull) |
         (start16 + (offset >> 4) + static_cast<uint32_t>(kConstant));
}

// Registers written before are ready for the matrix products after it.
__device__ __forceinline__ void product_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void product_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until all but the last `kOpen` committed groups are done. Their sums may be read only through
// `hold` after it, else the compiler is free to read them too early.
template <int kOpen>
__device__ __forceinline__ void product_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kOpen) : "memory");
}

template <int kCount>
__device__ __forceinline__ void hold(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace perceiver::hopper
