#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace perceiver {

// Bytes a program may still take on the device without pushing anything out: what the system calls
// available, less than that where a container sets a lower limit.
int64_t free_memory(at::Device device);

// The most bytes this program has held so far: resident ones, or tensors on a GPU.
int64_t peak_memory(at::Device device);

}  // namespace perceiver
