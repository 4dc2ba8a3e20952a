#pragma once

#include <cstdint>

namespace perceiver {

// What a raw device pointer points to.
enum class CudaDtype : uint8_t { kFloat32, kBFloat16, kFloat16 };

}  // namespace perceiver
