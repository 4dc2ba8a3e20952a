// LAMB and AdamW over a whole list of float32 tensors in a few launches: what perceiver/optim does
// tensor by tensor, to float32 rounding. The sums are made in a fixed order, so a step has the same
// bits each time; nothing waits for the host, so a CUDA graph can hold a step.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace perceiver {

// A parameter with its gradient and moments, on the device. Any alignment; 16 bytes is fastest.
struct FusedTensor {
  float* value;
  const float* gradient;
  float* first;
  float* second;
  int64_t count;
  bool decayed;
  // Where a step leaves the value in bfloat16 too (null: nowhere): rows of narrow_channels
  // elements, narrow_stride apart; 0: all one behind the other. Fewer than 2^32 elements.
  void* narrow = nullptr;
  int64_t narrow_channels = 0, narrow_stride = 0;
};

// What stays the same for a run.
struct FusedRule {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 0.01;
  double clip = 0;  // of the norm of all gradients together; 0: never
};

// What changes with each step, read from the device.
struct FusedRates {
  float learning_rate;
  float correction1;       // 1 - beta1^steps
  float root_correction2;  // sqrt(1 - beta2^steps)
};
FusedRates fused_rates(const FusedRule& rule, double learning_rate, int64_t steps);

struct FusedEntry;
struct FusedChunk;
struct FusedSums;
struct FusedRatio;

// The list on the device: pointers into memory that the caller owns.
struct FusedTable {
  int num_tensors = 0, num_chunks = 0, num_items = 0;
  int num_kept_chunks = 0;  // first in `chunks`: of tensors that LAMB reads once
  int lamb_blocks = 0, lamb_slots = 0;
  const float** gradients = nullptr;  // [num_tensors]
  FusedEntry* entries = nullptr;      // [num_tensors]
  FusedChunk* chunks = nullptr;       // [num_chunks]
  FusedChunk* items = nullptr;        // [num_items]: LAMB's chunks
  float* chunk_squares = nullptr;     // [num_chunks]: sums over gradients
  float* tensor_squares = nullptr;    // [num_tensors], likewise
  FusedSums* sums = nullptr;          // [num_items]
  FusedRatio* ratios = nullptr;       // [num_tensors]
  uint32_t* step = nullptr;           // how many there were
  FusedRates* rates = nullptr;
  float* gradient_norm = nullptr;    // of the last step, before clipping; not finite: look at it
  float* gradient_factor = nullptr;  // what the gradients were multiplied by
};

// Lays the table out in `memory`, fused_table_bytes of the device, aligned to 16, and waits until
// it is there.
size_t fused_table_bytes(std::span<const FusedTensor> tensors);
cudaError_t build_fused_table(std::span<const FusedTensor> tensors, void* memory, FusedTable* table,
                              cudaStream_t stream);

// Before each step: the rates, and the gradients' addresses [num_tensors] where they have moved.
// In a graph the host's memory is read at each replay and must be pinned; outside of one any will
// do.
cudaError_t set_rates(const FusedTable& table, const FusedRates* rates, cudaStream_t stream);
cudaError_t set_gradients(const FusedTable& table, const float* const* gradients,
                          cudaStream_t stream);

// One step. The gradients count as divided by *divisor (on the device; null: by 1), and stay as
// they are.
cudaError_t lamb_step(const FusedTable& table, const FusedRule& rule, const float* divisor,
                      cudaStream_t stream);
cudaError_t adamw_step(const FusedTable& table, const FusedRule& rule, const float* divisor,
                       cudaStream_t stream);

}  // namespace perceiver
