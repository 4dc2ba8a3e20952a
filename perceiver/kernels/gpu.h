// What decides about our kernels on a GPU. Plain C++, for .cu files too.
#pragma once

#include <cstdint>

namespace perceiver {

struct Gpu {
  int compute_capability = 0;  // 80 for sm_80; 0: there is no GPU
  int multiprocessors = 0;
  int64_t shared_memory = 0;  // bytes that a block can have
  int64_t memory = 0;         // bytes
  bool has_kernels = false;   // the program was built with ours
};

// Refusals.
inline constexpr const char* kNoGpu = "there is no GPU here";
inline constexpr const char* kNoKernels = "this program was built without CUDA kernels";

}  // namespace perceiver
