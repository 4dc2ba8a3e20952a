// Barriers that count bytes, and Hopper's copy engine, which fills tiles of shared memory by
// itself: an instruction each. For device code of sm_90a alone.
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

// A box of the array behind `map`, by its first element.
struct MapBox {
  const CUtensorMap* map;
  int channel, row, batch;
};

// The map is read from memory before its first use; that may begin now.
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Starts the copy of a box to shared memory; `barrier` counts its bytes. Elements outside the array
// arrive as zeros.
__device__ __forceinline__ void copy_box(uint32_t to, const MapBox& box, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(box.map), "r"(box.channel), "r"(box.row), "r"(box.batch), "r"(barrier)
      : "memory");
}

// The same to every block of the cluster that has a bit in `blocks`, at the same place in each,
// where the barrier at the same place counts.
__device__ __forceinline__ void copy_box_to(uint16_t blocks, uint32_t to, const MapBox& box,
                                            uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(box.map), "r"(box.channel), "r"(box.row), "r"(box.batch), "r"(barrier), "h"(blocks)
      : "memory");
}

// Starts the copy of bytes that follow each other; all numbers are multiples of 16.
__device__ __forceinline__ void copy_bytes(uint32_t to, const void* from, uint32_t bytes,
                                           uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
// They are wanted soon: brings them from memory to the cache of all multiprocessors.
__device__ __forceinline__ void prefetch_bytes(const void* from, uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// A box of heads' rows, [B, H, R, C].
struct HeadBox {
  const CUtensorMap* map;
  int channel, row, head, example;
};
__device__ __forceinline__ void copy_head_box(uint32_t to, const HeadBox& box, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
      "l"(box.map), "r"(box.channel), "r"(box.row), "r"(box.head), "r"(box.example), "r"(barrier)
      : "memory");
}

// Starts the copy of a box from shared memory; what is outside the array is left out. Copies
// started by a thread belong to its group of stores once it has closed that.
__device__ __forceinline__ void store_box(const MapBox& box, uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
          box.map),
      "r"(box.channel), "r"(box.row), "r"(box.batch), "r"(from)
      : "memory");
}
__device__ __forceinline__ void store_head_box(const HeadBox& box, uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::
          "l"(box.map),
      "r"(box.channel), "r"(box.row), "r"(box.head), "r"(box.example), "r"(from)
      : "memory");
}
__device__ __forceinline__ void close_group_of_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until this thread's stores have read shared memory.
__device__ __forceinline__ void wait_until_stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// What this thread wrote to shared memory is there for the copy engine and for products.
__device__ __forceinline__ void show_to_copy_engine() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// At a barrier of another block of the cluster, or of this one.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t block) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\n"
      "}\n" ::"r"(barrier),
      "r"(block)
      : "memory");
}

// Every thread of every block of the cluster has come here.
__device__ __forceinline__ void meet_cluster() {
  asm volatile(
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\n" ::
          : "memory");
}

}  // namespace perceiver::hopper
