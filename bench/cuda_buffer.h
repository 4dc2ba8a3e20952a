// Memory of the GPU for benchmarks, and calls that end the program when they fail.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace perceiver {

#define CHECK(call)                                                              \
  do {                                                                           \
    const cudaError_t error_ = (call);                                           \
    if (error_ != cudaSuccess) {                                                 \
      std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

using Buffer = std::shared_ptr<void>;

inline Buffer device_bytes(size_t bytes, int fill = 0xff) {
  void* data = nullptr;
  CHECK(cudaMalloc(&data, std::max<size_t>(bytes, 16)));
  CHECK(cudaMemset(data, fill, bytes));
  return {data, cudaFree};
}

template <class Element>
std::vector<Element> to_host(const void* data, int64_t count) {
  std::vector<Element> host(count);
  CHECK(cudaMemcpy(host.data(), data, count * sizeof(Element), cudaMemcpyDeviceToHost));
  return host;
}

}  // namespace perceiver
