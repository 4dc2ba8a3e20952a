// What stands around the warpgroup's matrix product (wgmma.h): where its operands lie in shared
// memory, the order of products, and registers. For device code of sm_90a alone.
#pragma once

#include <cstdint>

namespace perceiver::hopper {

// Rows of 128 or 32 bytes, their 16-byte pieces exchanged as the copy engine writes them, or of 16
// bytes; the number is that of the descriptor.
enum class Swizzle : uint32_t { kNone = 0, k128 = 1, k32 = 3 };

// PTX's "matrix descriptor" without its start; `leading` in bytes.
__host__ __device__ constexpr uint64_t descriptor_of(Swizzle swizzle, uint32_t leading) {
  const uint32_t row = swizzle == Swizzle::k128 ? 128 : swizzle == Swizzle::k32 ? 32 : 16;
  const uint32_t stride = 8 * row;
  return (static_cast<uint64_t>(swizzle) << 62) | (static_cast<uint64_t>(stride >> 4) << 32) |
         (static_cast<uint64_t>(leading >> 4) << 16);
}

// An address as a descriptor takes it, in units of 16 bytes. In a cluster an address also says of
// which block it is, in bits that a descriptor has other uses for.
__device__ __forceinline__ uint32_t start16_of(uint32_t address) {
  return (address & 0x3ffffu) >> 4;
}

// The start is `start16` units of 16 bytes plus `offset` bytes: it sits in the descriptor's lowest
// bits and never carries out of them, so only the lower half has to be computed.
template <Swizzle kSwizzle, uint32_t kLeading>
__device__ __forceinline__ uint64_t descriptor(uint32_t start16, uint32_t offset) {
  constexpr uint64_t kConstant = descriptor_of(kSwizzle, kLeading);
  return (kConstant & ~0xffffffffull) |
         (start16 + (offset >> 4) + static_cast<uint32_t>(kConstant));
}

// Q and K in Q K^T: rows are along the product's outer dimension, their bytes along its inner one;
// blocks of eight rows follow each other. The leading offset has no meaning then.
template <Swizzle kSwizzle>
__device__ __forceinline__ uint64_t inner_descriptor(uint32_t start16, uint32_t offset) {
  return descriptor<kSwizzle, 16>(start16, offset);
}

// V in P V: rows are along the inner dimension, and each holds 64 or 16 elements of the outer one;
// the next elements of the outer one are `kColumn` bytes further.
template <Swizzle kSwizzle, uint32_t kColumn>
__device__ __forceinline__ uint64_t outer_descriptor(uint32_t start16, uint32_t offset) {
  return descriptor<kSwizzle, kColumn>(start16, offset);
}

// Registers written before are ready for the products after it.
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

// A warpgroup's registers a thread, from now on.
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace perceiver::hopper
