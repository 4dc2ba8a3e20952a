#include "perceiver/kernels/norm/normalised_rows.h"

#include <ATen/ATen.h>

#include "perceiver/kernels/norm/epsilon.h"
#include "perceiver/kernels/norm/normalised_rows_torch.h"

namespace perceiver {

Tensor normalised_padded(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant) {
  if (cuda_rows_take(x, dtype)) return cuda_normalised(x, dtype, padded, constant);
  const int64_t channels = x.size(-1);
  const Tensor normed = at::layer_norm(x, {channels}, {}, {}, kNormEpsilon).to(dtype);
  if (padded == channels) return normed;
  Tensor out = at::constant_pad_nd(normed, {0, padded - channels});
  if (constant) out.select(-1, channels).fill_(1.0);
  return out;
}

AddedRows add_normalised(const Tensor& x, const Tensor& y) {
  if (cuda_rows_take(x, x.scalar_type()) && x.dtype() == y.dtype()) {
    return cuda_add_normalised(x, y);
  }
  const Tensor sum = x + y;
  return {sum, normalised_padded(sum, sum.scalar_type(), sum.size(-1), false)};
}

bool placed_rows_are_fused(const PlacedArray& a) { return cuda_placed_rows_take(a); }
Tensor normalised_placed(const PlacedArray& a) { return cuda_normalised_placed(a); }

}  // namespace perceiver
