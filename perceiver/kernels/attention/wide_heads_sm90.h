// softmax(scale Q K^T) V for one wide head, streamed over tiles of keys so that the scores never
// exist in memory: the cross-attends of the encoder and the decoder (paper, Eq. 2-3). Hopper alone:
// the products are the warpgroup's, the tiles come by the copy engine.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace perceiver {

// Device pointers; strides in elements. All of q, k, v, out and their strides are multiples of 16
// bytes (eight elements). F and V are any numbers up to 328: what stands behind them in a row of q,
// k or v is never read, and a row of out gets zeros behind V up to the next multiple of eight.
struct HopperAttention {
  const void* q = nullptr;           // [B, N, F]
  const void* k = nullptr;           // [B, M, F]
  const void* v = nullptr;           // [B, M, V]; the same as k: each tile is read once
  void* out = nullptr;               // [B, N, V]; a query whose keys are all hidden gets zeros
  const uint8_t* kv_mask = nullptr;  // [B, M], 1: there is an element; null: all are there
  float* log_sum_exp = nullptr;      // [B, N] or null; -infinity for a query without keys
  void* workspace = nullptr;         // attention_hopper_workspace() bytes, 16-byte aligned
  bool bfloat16 = true;              // else float16; sums are float32 in both
  int64_t batch = 1, queries = 0, keys = 0;  // B, N, M
  int64_t qk_channels = 0, v_channels = 0;   // F, V
  int64_t q_row = 0, k_row = 0, v_row = 0, out_row = 0;
  int64_t q_batch = 0, k_batch = 0, v_batch = 0, out_batch = 0, mask_batch = 0;
  float scale = 1.0f;
  // Runs the keys are cut into, 32 at most; 0: as many as keep the device busy. With a number, a
  // query's output does not depend on how many others there are.
  int splits = 0;
};

// Why the kernel cannot take the case on this device; null when it can.
const char* attention_hopper_refusal(const HopperAttention& attention);

// Bytes of scratch the case needs: where keys are split among blocks, their partial results.
size_t attention_hopper_workspace(const HopperAttention& attention);

cudaError_t attention_hopper(const HopperAttention& attention, cudaStream_t stream);

}  // namespace perceiver
