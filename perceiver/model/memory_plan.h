// How much memory a forward pass takes, told from sizes and from the plan of every attend: before
// anything is taken.
#pragma once

#include "perceiver/model/summary.h"

namespace perceiver {

// Bytes. A stage's are those of its largest attend, beside the input array.
struct MemoryPlan {
  int64_t program = 0;  // on a CPU: the program and its libraries
  int64_t weights = 0;
  int64_t packed = 0;   // the inference form's copy of them
  int64_t packing = 0;  // while that is made
  int64_t inputs = 0;   // while the input array is made, and afterwards
  int64_t encode = 0, process = 0, decode = 0;

  int64_t peak() const;     // what `perceiver bench` measures
  int64_t of_pass() const;  // beyond a model that is loaded
};

// Of a pass without gradients, which decodes `slice` queries at a time. On a CPU it was measured:
// bench/results/memory_cpu.md. On a GPU it is an estimate of the arrays alone.
MemoryPlan plan_memory(const ModelSummary& summary, AttendPlace place, int64_t slice);

}  // namespace perceiver
