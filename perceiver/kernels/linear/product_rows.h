// Arrays as the products of cublaslt_torch.h and gemm_sm90_torch.h see them. For host code only.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

inline constexpr int64_t kTogether = 8;  // 16-bit elements in 16 bytes

inline bool starts_at_16_bytes(const Tensor& x) {
  return reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

// [..., C] as rows with channels side by side and 16 bytes from row to row.
inline Tensor product_rows(const Tensor& x) {
  const Tensor rows = x.reshape({-1, x.size(-1)});
  const bool fits = rows.stride(1) == 1 && rows.stride(0) % kTogether == 0 &&
                    rows.stride(0) >= rows.size(1) && starts_at_16_bytes(rows);
  return fits ? rows : rows.contiguous();
}

// What x [..., K] multiplied with weight [N, K] goes to: [..., N]
inline Tensor new_product(const Tensor& x, const Tensor& weight) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return at::empty(sizes, x.options());
}

}  // namespace perceiver
