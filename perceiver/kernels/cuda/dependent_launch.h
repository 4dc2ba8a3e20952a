// Kernels that come before the ones before them are done: a kernel of Hopper may be started while
// the last one still runs, get itself ready, and wait for it only then. For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include "perceiver/kernels/cuda/device.h"

namespace perceiver {

// What the kernels before this one have written is there. Every thread that reads or writes such
// memory has to come here first, if the kernel was started by start_early().
__device__ __forceinline__ void wait_for_kernels_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may come as soon as every block has said so and there is room for it.
__device__ __forceinline__ void let_next_kernel_come() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct KernelLaunch {
  dim3 blocks, threads;
  size_t shared_bytes;
  cudaStream_t stream;
  unsigned cluster = 1;  // blocks of a cluster
};

// As kernel<<<...>>>(arguments...), but early where the GPU can.
template <typename... Parameters, typename... Arguments>
cudaError_t start_early(void (*kernel)(Parameters...), const KernelLaunch& launch,
                        const Arguments&... arguments) {
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes));
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) >= 9) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {launch.cluster, 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = launch.blocks;
  config.blockDim = launch.threads;
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = launch.stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace perceiver
