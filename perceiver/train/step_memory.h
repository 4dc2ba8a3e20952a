// Whether a training step fits in memory, before it is begun.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "perceiver/tasks/train_config.h"

namespace perceiver {

// Bytes a step takes beyond what is held before it.
struct StepMemory {
  int64_t fixed = 0;        // whatever the batch: gradients and the optimiser's state
  int64_t per_example = 0;  // of a small batch: what the backward pass needs of the forward pass

  int64_t of(int64_t examples) const { return fixed + examples * per_example; }
};

// The most bytes that tensors made by `work`, on this thread and on the CPU, hold at once.
int64_t peak_tensor_bytes(const std::function<void()>& work);

// Fails where a step is larger than the free memory that each of `ranks` processes has, with
// settings that would fit.
void check_memory(const StepMemory& step, const TrainConfig& config, int64_t free_bytes,
                  int64_t ranks = 1);

}  // namespace perceiver
