#pragma once

#include <cuda_runtime_api.h>

#include "perceiver/kernels/gpu.h"

namespace perceiver {

// Of a device; 0 where there is none.
inline int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

// Of the current device; 0 where there is none.
inline int device_attribute(cudaDeviceAttr which) {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? device_attribute(which, device) : 0;
}

// Bytes of shared memory that a block can have, on Hopper.
inline constexpr unsigned kMostSharedOfHopper = 232448;

// Whether it has the instructions that kernels for sm_90a are made of.
inline bool is_hopper() {
  return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 &&
         device_attribute(cudaDevAttrComputeCapabilityMinor) == 0;
}

// But for the memory, which takes longer to find out.
inline Gpu gpu_of(int device) {
  return {.compute_capability = 10 * device_attribute(cudaDevAttrComputeCapabilityMajor, device) +
                                device_attribute(cudaDevAttrComputeCapabilityMinor, device),
          .multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount, device),
          .shared_memory = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          .has_kernels = true};
}

inline Gpu current_gpu() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? gpu_of(device) : Gpu{.has_kernels = true};
}

}  // namespace perceiver
