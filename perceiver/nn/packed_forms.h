#pragma once

#include "perceiver/nn/packed.h"

namespace perceiver {

// On the CPU's register tiles; for dtypes that stream_takes() names.
std::shared_ptr<PackedAttend> pack_for_cpu(const AttendParts& parts, at::ScalarType dtype);

// By LibTorch's products and our kernels of attention, on any device.
std::shared_ptr<PackedAttend> pack_for_gpu(const AttendParts& parts, at::ScalarType dtype);

}  // namespace perceiver
