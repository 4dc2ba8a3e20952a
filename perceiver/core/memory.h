#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace perceiver {

// Bytes a program may still take on the device without pushing anything out: what the system calls
// available, less than that where a container sets a lower limit.
int64_t free_memory(at::Device device);

// Bytes this program holds: resident ones, or tensors on a GPU.
int64_t held_memory(at::Device device);

// The most of them so far, or since the last reset.
int64_t peak_memory(at::Device device);

// Gives back what is kept for later use and lets the peak begin again at what is held now. Where
// the system does not allow that, the peak stays the program's.
void reset_peak_memory(at::Device device);

}  // namespace perceiver
