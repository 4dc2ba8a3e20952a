// Arrays [B, H, R, C] as the kernels of few_keys.h and narrow_heads_sm90.h see them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/attention/few_keys.h"

namespace perceiver {

// x [B, H, R, C] as the kernels can read it: channels side by side, rows on 16 bytes.
inline Tensor aligned(const Tensor& x) {
  constexpr int64_t kTogether = 8;
  const bool fits = x.stride(3) == 1 && x.stride(0) % kTogether == 0 &&
                    x.stride(1) % kTogether == 0 && x.stride(2) % kTogether == 0 &&
                    reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
  return fits ? x : x.contiguous();
}

inline HeadRows head_rows(const Tensor& x) {
  return {x.const_data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

inline NewHeadRows new_head_rows(const Tensor& x) {
  return {x.data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}

// A new array [B, R, H * C], as [B, H, R, C].
inline Tensor new_heads(const Tensor& like, int64_t channels) {
  return at::empty({like.size(0), like.size(2), like.size(1), channels}, like.options())
      .transpose(1, 2);
}

}  // namespace perceiver
