// Maps by which Hopper's copy engine reads and writes arrays in boxes.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

namespace perceiver {

// An array of 16-bit elements: its innermost dimension is contiguous, the others follow from inside
// to outside. A dimension of one element may have any stride.
template <int kDimensions>
struct MappedArray {
  bool bfloat16;  // else float16
  const void* data;
  std::array<int64_t, kDimensions> sizes;
  std::array<int64_t, kDimensions - 1> strides;  // elements, of all but the innermost
  std::array<int, kDimensions> box;
};

// Boxes lie in shared memory with the 128-, 64- or 32-byte swizzle where their rows have as many
// bytes, as the array lies otherwise.
template <int kDimensions>
cudaError_t make_copy_map(const MappedArray<kDimensions>& array, CUtensorMap* map);

}  // namespace perceiver
