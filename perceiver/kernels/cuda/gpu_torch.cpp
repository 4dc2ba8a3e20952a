#include "perceiver/kernels/cuda/gpu_torch.h"

#include <c10/cuda/CUDAFunctions.h>

#include <map>
#include <mutex>

#include "perceiver/kernels/cuda/device.h"

namespace perceiver {

// Without making it the current device, which would take memory of it.
static Gpu look_at(int device) {
  Gpu gpu = gpu_of(device);
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
    gpu.memory = static_cast<int64_t>(properties.totalGlobalMem);
  }
  return gpu;
}

Gpu gpu_here(at::Device device) {
  static std::mutex looking;
  static std::map<int, Gpu> seen;
  if (c10::cuda::device_count() == 0) return {.has_kernels = true};
  const int index = device.has_index() ? device.index() : c10::cuda::current_device();
  const std::lock_guard lock(looking);
  const auto known = seen.find(index);
  return known != seen.end() ? known->second : seen[index] = look_at(index);
}

}  // namespace perceiver
