#pragma once

#include <cuda_runtime_api.h>

namespace perceiver {

inline constexpr const char* kNoGpu = "there is no GPU here";  // a refusal

// Of the current device; 0 where there is none.
inline int device_attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

// Bytes of shared memory that a block can have, on Hopper.
inline constexpr unsigned kMostSharedOfHopper = 232448;

// Whether it has the instructions that kernels for sm_90a are made of.
inline bool is_hopper() {
  return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 &&
         device_attribute(cudaDevAttrComputeCapabilityMinor) == 0;
}

}  // namespace perceiver
