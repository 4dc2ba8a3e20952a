// What the machine's GPUs are. In a program built without our kernels, nothing.
#pragma once

#include <c10/core/Device.h>

#include "perceiver/kernels/gpu.h"

namespace perceiver {

Gpu gpu_here(at::Device device);

}  // namespace perceiver
